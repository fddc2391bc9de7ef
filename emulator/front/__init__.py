"""What people see: the command line, and the screen of `ringhil step`."""
