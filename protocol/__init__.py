"""The wire: definitions of every frame and register, CRCs and codecs, and generators for other languages."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
