"""Neural networks as layers in the order in which they run: tables of published ones, files, and what makes them."""
