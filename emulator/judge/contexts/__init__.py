"""Tasks, their contexts, memory and turns on GPUs."""
