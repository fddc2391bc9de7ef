"""Scenarios as text."""
