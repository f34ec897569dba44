"""A validation: what a device expects of networks beside what they took, and how far that is off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from weighbridge.report.predicted import Distribution, LeftAside, NetworkTime

__all__ = ["Validation"]

SCHEMA: Final = 1


@dataclass(frozen=True, slots=True)
class Validation:
    """``networks`` are measurements that the device has a runtime for, in the order of their time; ``errors`` their distribution.

    ``device`` and ``title`` name the device.  ``aside`` is what was left out, and why.
    """

    tool: str
    device: str
    title: str
    networks: tuple[NetworkTime, ...]
    errors: tuple[Distribution, ...]
    aside: tuple[LeftAside, ...] = ()
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, numbers and strings, as the JSON has them."""
        from weighbridge.report.json import plain

        return {
            "schema": self.schema,
            "tool": self.tool,
            "device": self.device,
            "title": self.title,
            **{name: plain(getattr(self, name), []) for name in ("networks", "errors", "aside", "notes")},
        }

    def to_json(self) -> str:
        """The JSON text, ending in a newline."""
        from weighbridge.report.json import layout

        return layout(self.to_dict())
