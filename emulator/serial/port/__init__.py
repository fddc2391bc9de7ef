"""The management port of an emulated card: what it is asked, by programs and by people, and what it tells."""
