"""What stands in a page that is one file."""

import json
import re
from typing import Any


def held(text: str, name: str) -> dict[str, Any]:
    """Of the element of that name."""
    (found,) = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', text, re.S)
    read = json.loads(found)
    assert isinstance(read, dict)
    return read
