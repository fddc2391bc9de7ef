"""Groups of processes, what each may have of every GPU, and the files that say so."""
