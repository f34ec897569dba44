"""A device as the tables of its file: plain dicts, lists, numbers and strings."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from weighbridge.devices.device import Device

__all__ = ["device_tables"]


def device_tables(device: Device) -> dict[str, Any]:
    """What a file that describes ``device`` has, with its keys; what is as it would be without its key is left out."""
    return _table(device)


def _table(record: Any) -> dict[str, Any]:
    values = ((field, getattr(record, field.name)) for field in fields(record))
    return {field.name.rstrip("_"): _plain(value) for field, value in values if value != field.default}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return _table(value) if is_dataclass(value) else value
