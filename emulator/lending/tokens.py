"""Bearer tokens: the operator's, which may do all, and one of each guest's, which may do what concerns that guest.

A guest's token is its node address and a keyed hash of it, under the operator's token: nobody has to keep it.
"""

import hashlib
import hmac
import secrets

OPERATOR = ""  # the identity of who has the operator's token; a guest's is its node address
LEAST = 32  # characters of an operator's token
MOST = 200  # characters of any token
_DIGEST = hashlib.sha256


def new_token() -> str:
    """An operator's, with 256 bits that nobody can guess."""
    return secrets.token_urlsafe(32)


def node_token(operator: str, node: str) -> str:
    """That of a guest."""
    return f"{node}.{hmac.digest(operator.encode(), node.encode(), _DIGEST).hex()}"


def identity(operator: str, given: str) -> str | None:
    """Whose token was given: OPERATOR, a node address, or None: nobody's. It takes as long for a token that is nearly
    right as for any other."""
    if len(given) > MOST or not given.isascii():
        return None
    node, dot, _ = given.rpartition(".")
    wanted = node_token(operator, node) if dot else operator
    return (node if dot else OPERATOR) if hmac.compare_digest(wanted, given) else None
