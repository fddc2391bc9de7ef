"""Checks of anybody's card against the management protocol: docs/reference/management.md, rule by rule."""
