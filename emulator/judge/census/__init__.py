"""The rounds of a census, and who is named by it."""
