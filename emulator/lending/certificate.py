"""Certificates: guests know the server that lends GPUs, and nobody reads what they say to it (V6). Needs cryptography.

An authority signs one certificate and is forgotten: its key is never written. QEMU and libvirt look for these names in
a folder of theirs.
"""

import ipaddress
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ringhil.emulator.errors import RinghilError, printable

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ImportError:
    raise RinghilError("the package cryptography is missing; install it with: pip install 'ringhil[lending]'") from None

AUTHORITY, CERTIFICATE, KEY = "ca-cert.pem", "server-cert.pem", "server-key.pem"
HERE = ("localhost", "127.0.0.1", "::1")
_NAME = r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*"
_EARLIER = timedelta(hours=1)  # clocks of guests may be slow


class CertificateError(RinghilError, OSError):
    """A certificate that can't be made or written."""


def make_certificate(folder: Path, names: Sequence[str], days: int, now: datetime | None = None) -> None:
    """Writes `AUTHORITY`, which guests get, `CERTIFICATE` and `KEY`, which only its owner can read, to a folder that
    has none of them. `names`: host names and IP addresses of the server. Raises CertificateError."""
    begins = (datetime.now(UTC) if now is None else now) - _EARLIER
    ends = begins + _EARLIER + timedelta(days=days)
    known_as = [_general(name) for name in dict.fromkeys(names)]
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ringhil lend authority")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ringhil lend")])

    def signed(name: x509.Name, public: ec.EllipticCurvePublicKey, *, is_authority: bool) -> x509.CertificateBuilder:
        usage = x509.KeyUsage(
            digital_signature=not is_authority,
            key_cert_sign=is_authority,
            crl_sign=is_authority,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins)
            .not_valid_after(ends)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None), True)
            .add_extension(usage, True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), False)
            .add_extension(signer, False)
        )

    authority = signed(issuer, authority_key.public_key(), is_authority=True).sign(authority_key, hashes.SHA256())
    server = (
        signed(subject, key.public_key(), is_authority=False)
        .add_extension(x509.SubjectAlternativeName(known_as), False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    _write(folder, {AUTHORITY: authority.public_bytes(pem), CERTIFICATE: server.public_bytes(pem), KEY: private})


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        pass
    if not re.fullmatch(_NAME, name):
        raise CertificateError(f"name: found {printable(name[:80])!r}; allowed is a host name or an IP address")
    return x509.DNSName(name)


def _write(folder: Path, contents: dict[str, bytes]) -> None:
    """All of them, or none."""
    written: list[Path] = []
    file = folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            file = folder / name
            mode = 0o600 if name == KEY else 0o644
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            written.append(file)
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(content)
    except OSError as error:
        for each in written:
            each.unlink(missing_ok=True)
        exists = "is there already; name another folder" if isinstance(error, FileExistsError) else None
        raise CertificateError(f"{file}: {exists or error.strerror or error}") from None
