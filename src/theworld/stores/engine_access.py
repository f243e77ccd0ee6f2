"""What the clients of all servers share: certificates, and names made from the ledger's identity."""

from __future__ import annotations

import hashlib
import ssl

from theworld.errors import SettingsError
from theworld.settings import ServerSettings


def tls_context(settings: ServerSettings) -> ssl.SSLContext:
    """Return what checks the server's certificate, by the authorities of the system or by `ca_file`."""
    try:
        ca_file = settings.ca_file.expanduser() if settings.ca_file is not None else None
        context = ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"the certificate cannot be read: {error}.",
            where="servers.ca_file",
            remedy="It is a PEM file with the certificate of the authority that signed the server's.",
        ) from error
    if not settings.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def identifier(*parts: str) -> str:
    """Return 32 hex digits that stand for the parts: ids on servers are limited in length and alphabet, ours are not.

    A part that is no text (a lone surrogate) is like no stored one.
    """
    data = b""
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        data += len(encoded).to_bytes(8, "big") + encoded
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def is_text(value: str) -> bool:
    """Tell whether a string can be sent: lone surrogates cannot, and nothing stored holds them."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
