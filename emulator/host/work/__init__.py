"""Plain work: units, their way out and back, and which results count."""
