"""Hardware in the loop: firmware that runs somewhere else, in a library or on a board, as the firmware of a GPU;
hardware of a GPU on a board."""
