"""How good the conformance suite is: it is shown nodes with one mistake each, and must find every one."""
