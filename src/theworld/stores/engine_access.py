"""What the clients of all servers share: credentials, certificates, and names made from the ledger's identity."""

from __future__ import annotations

import hashlib
import ssl
from pathlib import Path

from theworld.errors import SettingsError
from theworld.settings import DenseSettings, ServerSettings, UserSettings


def credentials(settings: UserSettings, section: str) -> tuple[str, str] | None:
    """Return user name and password, from the setting or the file; None when there are none."""
    if settings.username is None:
        return None
    if settings.password is not None:
        return settings.username, settings.password.get_secret_value()
    if settings.password_file is None:
        return settings.username, ""
    return settings.username, _secret(settings.password_file, "password", f"{section}.password_file")


def api_key(settings: DenseSettings) -> str | None:
    """Return the API key, from the setting or the file; None when there is none."""
    if settings.api_key is not None:
        return settings.api_key.get_secret_value()
    return _secret(settings.api_key_file, "API key", "dense.api_key_file") if settings.api_key_file else None


def _secret(file: Path, what: str, where: str) -> str:
    try:
        return file.expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError) as error:
        raise SettingsError(
            f"the {what} cannot be read: {error}.",
            where=where,
            remedy="Check that the file exists, is text, and that this user may read it.",
        ) from error


def tls_context(settings: ServerSettings, section: str) -> ssl.SSLContext:
    """Return what checks the server's certificate, by the authorities of the system or by `ca_file`."""
    try:
        ca_file = settings.ca_file.expanduser() if settings.ca_file is not None else None
        context = ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"the certificate cannot be read: {error}.",
            where=f"{section}.ca_file",
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
