"""Typed events of a run: the one stream on which they are told, and what a recording keeps of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
