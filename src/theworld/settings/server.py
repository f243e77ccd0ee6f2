"""What the settings of all servers share."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, SecretStr, model_validator

from theworld.settings.section import Section


class ServerSettings(Section):
    """A server in place of what is embedded: where it is, and how long it may take."""

    SCHEMES: ClassVar[tuple[str, ...]] = ()
    """What the address may begin with."""

    url: str | None = Field(default=None, description="Address of the server; none: embedded in the store's folder")
    ca_file: Path | None = Field(default=None, description="PEM file of the authority that signed the certificate")
    verify: bool = Field(default=True, description="Check the certificate; false is for trials only")
    timeout_s: float = Field(default=0.8, gt=0, le=600, description="Longest wait for the answer to a query")
    write_timeout_s: float = Field(default=60.0, gt=0, le=3600, description="Longest wait for one batch to be written")
    connections: int = Field(default=8, ge=1, le=256, description="Connections kept open")
    failures: int = Field(
        default=3, ge=1, le=100, description="Failures in a row after which it is left alone until it answers again"
    )
    probe_s: float = Field(default=1.0, gt=0, le=600, description="Longest pause between two looks at one left alone")

    @model_validator(mode="after")
    def _address_is_plain(self) -> Self:
        scheme, _, rest = (self.url or "").partition("://")
        if self.url is not None and (scheme not in self.SCHEMES or not rest):
            raise ValueError(f"url must begin with {' or '.join(f'{name}://' for name in self.SCHEMES)}")
        if "@" in rest.partition("/")[0]:
            raise ValueError("url must hold no password; put it into the settings for it, or into a file")
        return self


class UserSettings(Section):
    """A server that knows its clients by name and password."""

    username: str | None = Field(default=None, description="User name, with a password")
    password: SecretStr | None = Field(default=None, description="Password")
    password_file: Path | None = Field(default=None, description="File that holds the password instead")

    @model_validator(mode="after")
    def _has_one_password(self) -> Self:
        if self.password is not None and self.password_file is not None:
            raise ValueError("password and password_file contradict each other; remove one")
        if self.username is None and (self.password is not None or self.password_file is not None):
            raise ValueError("a password needs a username")
        return self
