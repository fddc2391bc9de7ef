"""Checks of anybody's card against the management protocol: what docs/management.md promises, rule by rule."""
