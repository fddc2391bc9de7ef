"""A running server, served: its clients, the lines by which they come, and what they did."""
