"""The terminal UI of `ringhil step`: a recording on the screen, message by message.

The screen reads the recording itself, a page at a time; whatever takes long (a search, a command, the state of a GPU)
is done by processes of their own (`desk`), so that the list answers at once.
"""
