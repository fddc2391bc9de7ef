"""The bypass switch."""
