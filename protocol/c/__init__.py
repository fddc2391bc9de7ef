"""The management protocol in C99, for either end: `FOLDER` holds its sources and headers."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent
