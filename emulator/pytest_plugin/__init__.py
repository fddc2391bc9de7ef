"""pytest: scenario files as tests, servers driven from Python tests, and a card on its port. See docs/howto/ci.md."""
