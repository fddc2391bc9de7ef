"""Server and judge still import each other, and only from this end without an error."""

import ringhil.emulator.server  # noqa: F401
