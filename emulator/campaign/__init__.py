"""Many runs: scenario files as tests, fault campaigns, failures made small."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
