"""A file as it is written (`model*.py`), and the frozen objects that it is checked into (`check*.py`)."""
