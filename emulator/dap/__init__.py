"""Stepping in editors: the Debug Adapter Protocol over the session of `ringhil step`."""
