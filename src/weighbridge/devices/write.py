"""Writes a device as the file that describes it."""

from __future__ import annotations

from weighbridge.devices.device import Device
from weighbridge.devices.plain import device_tables
from weighbridge.errors import MissingExtra

__all__ = ["written"]


def written(device: Device) -> bytes:
    """The TOML of ``device``, which is read back as an equal device.

    Raises ``MissingExtra`` where the library that writes TOML is not installed.
    """
    try:
        import tomli_w
    except ImportError:
        raise MissingExtra("writing a device file needs tomli-w", hint='pip install "weighbridge[measure]"') from None
    return tomli_w.dumps(device_tables(device)).encode()
