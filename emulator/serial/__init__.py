"""Serial lines to cards: the management port of an emulated card, and the client of any card.

| room | what is in it |
|---|---|
| `line/` | speeds, wires that take their time, noise, a ring in real time |
| `uart/` | a line that is simulated bit by bit |
| `words` | what people type and read for numbers of the management protocol |
| `port/` | the management port of an emulated card |
| `session/` | the bytes between a program and a card: recorded, read and answered again |
| `client/` | a client of any card; two cards compared |
| `server/` | a running server that is served: clients, and the lines by which they come |
| `handlers/` | URLs of ours for pyserial: `emulated://`, `replay://` |
| `checks/` | checks of anybody's card against the management protocol |
"""
