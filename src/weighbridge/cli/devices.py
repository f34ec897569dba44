"""Carries out ``weighbridge devices``."""

from __future__ import annotations

import sys

from weighbridge.devices.catalogue import find, names

__all__ = ["list_devices"]


def list_devices() -> int:
    """Print a line for every device of the catalogue: the name that ``--on`` takes, and the full one."""
    known = [find(name) for name in names()]
    width = max(len(device.name) for device in known)
    sys.stdout.write("".join(f"{device.name:{width}}  {device.title}\n" for device in known))
    return 0
