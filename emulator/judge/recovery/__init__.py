"""What is true after each fault, and how long it may take until all know of it."""
