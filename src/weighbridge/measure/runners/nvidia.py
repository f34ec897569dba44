"""What NVIDIA's own library says of a graphics processor."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from weighbridge.measure.conditions import Accelerator

__all__ = ["handle_of", "nvml_here", "processor"]


def processor(number: int, nvml: Any = None) -> Accelerator:
    """The graphics processor that CUDA has under that number: its name, its memory, its driver; what cannot be asked is None."""
    library = nvml or nvml_here()
    name, memory, driver = "an NVIDIA graphics processor", None, None
    if library is None:
        return Accelerator(name)
    with suppress(library.NVMLError):
        library.nvmlInit()
        driver = _text(library.nvmlSystemGetDriverVersion())
        handle = handle_of(library, number)
        name = _text(library.nvmlDeviceGetName(handle))
        memory = int(library.nvmlDeviceGetMemoryInfo(handle).total)
    return Accelerator(name, memory, driver)


def handle_of(library: Any, number: int) -> Any:
    """What NVIDIA's library, which counts all that there are, calls the one that CUDA has under that number.

    CUDA counts those that ``CUDA_VISIBLE_DEVICES`` names, by number or by UUID; numbers are of the bus, as ``measure.apart`` asks CUDA to
    count.  Raises ``NVMLError`` for one that is not there.
    """
    seen = [one.strip() for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one.strip()]
    named = seen[number] if number < len(seen) else str(number)
    if named.isdecimal():
        return library.nvmlDeviceGetHandleByIndex(int(named))
    return library.nvmlDeviceGetHandleByUUID(named)


def nvml_here() -> Any:
    """NVIDIA's library, None where it is not installed."""
    with suppress(ImportError):
        import pynvml

        return pynvml
    return None


def _text(found: str | bytes) -> str:
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else found
