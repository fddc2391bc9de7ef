"""For firmware developers: runs recorded whole, run again from their recordings, compared."""
