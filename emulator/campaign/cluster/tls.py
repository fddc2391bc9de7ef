"""Certificates for `tls://`: those that Dask's configuration names, checked before a scheduler is looked for."""

from typing import Any

from ringhil.emulator.campaign.cluster.errors import ClusterError

_KEYS = ("ca-file", "client.cert", "client.key")
_WHERE = "distributed.comm.tls"


def security(where: str) -> Any:
    """What a Dask client shows to the scheduler at `where`, and asks of it. Raises ClusterError."""
    import dask
    from distributed.security import Security

    given = {key: dask.config.get(f"{_WHERE}.{key}", None) for key in _KEYS}
    named = ", ".join(f"{key}: {value}" for key, value in given.items())
    try:
        found = Security()
        context = found.get_connection_args("client")["ssl_context"]
    except (OSError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ClusterError(f"--cluster {where}: {_WHERE} of Dask's configuration: found {named}: {reason}") from error
    if context is None:
        raise ClusterError(
            f"--cluster {where}: {_WHERE} of Dask's configuration: found {named}; needed are ca-file and client.cert"
        )
    return found
