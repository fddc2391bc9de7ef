"""The wire: definitions of every frame and register, CRCs and codecs, and generators for other languages."""
