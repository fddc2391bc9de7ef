"""One GPU's firmware alone, in virtual time: frames, timers and status go in, and what comes out is held against what
is promised."""
