"""One file for many scenarios: parameters, expressions, and a variant for each combination."""
