"""The firmware of a GPU in C99: sources; `make` here builds a library of them."""
