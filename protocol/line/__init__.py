"""Serial lines: framing, and the messages of a card's management port."""
