"""A run as a picture in a browser: what the page is told, and the server that tells it."""
