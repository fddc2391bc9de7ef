"""A client of the Debug Adapter Protocol, over the streams of a process or a socket."""

import json
import os
import select
import time
from collections import deque
from typing import Any

Message = dict[str, Any]
_LIMIT = 60.0  # seconds


class Client:
    """Sends to `writing` and hears from `reading`, two descriptors."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing, self._left = reading, writing, b""
        self._seq = 0
        self.events = deque[Message]()

    def send(self, message: Message) -> None:
        """Whatever it is."""
        self.send_bytes(json.dumps(message).encode())

    def send_bytes(self, body: bytes) -> None:
        """The body of a message."""
        os.write(self._writing, b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def begin(self, command: str, **arguments: Any) -> int:
        """Ask, and don't wait; its number."""
        self._seq += 1
        self.send({"seq": self._seq, "type": "request", "command": command, "arguments": arguments})
        return self._seq

    def answer(self, number: int) -> Message:
        """The response to a request."""
        while True:
            message = self.hear()
            if message["type"] == "response" and message["request_seq"] == number:
                return message
            self.events.append(message)

    def ask(self, command: str, **arguments: Any) -> Any:
        """The body of a response that must be a good one."""
        found = self.answer(self.begin(command, **arguments))
        assert found["success"], found
        return found.get("body", {})

    def refused(self, command: str, **arguments: Any) -> str:
        """Why a request was refused."""
        found = self.answer(self.begin(command, **arguments))
        assert not found["success"], found
        text = str(found["message"])
        assert "\n" not in text
        return text

    def event(self, name: str) -> Message:
        """The body of the next event of this name; others are passed over."""
        while True:
            message = self.events.popleft() if self.events else self.hear()
            if message["type"] == "event" and message["event"] == name:
                return message.get("body") or {}

    def hear(self) -> Message:
        """The next message. Raises EOFError."""
        deadline = time.monotonic() + _LIMIT
        while True:
            head, mark, rest = self._left.partition(b"\r\n\r\n")
            if mark:
                length = int(head.removeprefix(b"Content-Length: "))
                if len(rest) >= length:
                    self._left = rest[length:]
                    found: Message = json.loads(rest[:length])
                    return found
            ready, _, _ = select.select([self._reading], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "no answer"
            data = os.read(self._reading, 1 << 16)
            if not data:
                raise EOFError
            self._left += data

    # ------------------------------------------------------------------------------------------------- several at once

    def launch(self, **arguments: Any) -> None:
        """As far as breakpoints can be set."""
        self.ask("initialize", adapterID="ringhil", linesStartAt1=True)
        self.ask("launch", **arguments)
        self.event("initialized")

    def start(self) -> Message:
        """Stopped at the entry."""
        self.ask("configurationDone")
        return self.event("stopped")

    def move(self, command: str) -> Message:
        """Until it has stopped."""
        self.ask(command, threadId=1)
        return self.event("stopped")

    def frames(self) -> list[Message]:
        """The stack."""
        found: list[Message] = self.ask("stackTrace", threadId=1)["stackFrames"]
        return found

    def number(self) -> int:
        """Of the message or event where it is, or that is handled; 0: before the first."""
        found = self.answer(self.begin("evaluate", expression="number"))
        return int(found["body"]["result"]) if found["success"] else 0

    def gpu(self) -> str:
        """Whose registers the innermost frame has."""
        scopes = self.ask("scopes", frameId=1)["scopes"]
        return next(each["name"] for each in scopes if each["name"].startswith("Registers")).split()[-1]

    def variables(self, scope: str, frame: int = 1) -> dict[str, str]:
        """Values by name of a scope whose name begins so."""
        scopes = self.ask("scopes", frameId=frame)["scopes"]
        (found,) = (each for each in scopes if each["name"].startswith(scope))
        listed = self.ask("variables", variablesReference=found["variablesReference"])["variables"]
        return {each["name"]: each["value"] for each in listed}
