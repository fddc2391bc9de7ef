"""Tasks that follow one another on a GPU (W1 to W7), by policies that can be compared. See docs/howto/switching.md."""
