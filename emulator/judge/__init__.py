"""What is true, what was promised, and whether a run kept to it."""
