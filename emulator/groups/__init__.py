"""The group tree of a server at work, for those outside: as files, and in recordings. See docs/howto/sharing.md."""
