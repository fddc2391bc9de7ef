"""Firmware of a GPU as state machines without clock or I/O."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
