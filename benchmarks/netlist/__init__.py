"""How good the comparison of a netlist with its RTL is: netlists with one bit of one look-up table flipped."""
