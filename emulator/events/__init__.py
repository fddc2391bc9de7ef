"""Typed events of a run: the one stream on which they are told, and what a recording keeps of them."""
