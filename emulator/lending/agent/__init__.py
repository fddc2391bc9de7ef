"""Agents for guests: they ask the server for a GPU, and give it back. In C99, and in Python without this package."""
