"""pytest and scenarios: files collected as tests, and servers driven from Python tests. See docs/ci.md."""
