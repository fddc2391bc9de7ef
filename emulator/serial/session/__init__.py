"""Sessions: the bytes that went over a line between a program and a card, recorded, read, and answered again."""
