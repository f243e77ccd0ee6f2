"""An ontology back into the YAML or JSON form, without what is default; reading it again gives the same ontology."""

from __future__ import annotations

import json
from typing import Any

import yaml

from theworld.ontology.model import Ontology


def to_plain(ontology: Ontology) -> dict[str, Any]:
    """Return the form as plain values."""
    plain: dict[str, Any] = ontology.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return plain


def to_yaml(ontology: Ontology) -> str:
    """Return the YAML form."""
    text: str = yaml.dump(
        to_plain(ontology), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=120, default_flow_style=None
    )
    return text


def to_json(ontology: Ontology) -> str:
    """Return the JSON form."""
    return json.dumps(to_plain(ontology), ensure_ascii=False, indent=2) + "\n"


class _Dumper(yaml.SafeDumper):
    """Writes values that occur twice twice, without anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True
