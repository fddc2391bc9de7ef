"""Tasks that follow one another on a GPU."""
