"""What NVIDIA's own library says of a graphics processor."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from weighbridge.measure.conditions import Accelerator

__all__ = ["processor"]


def processor(number: int, nvml: Any = None) -> Accelerator:
    """The graphics processor of that number: its name, its memory, its driver; what cannot be asked is None.

    The number is NVIDIA's own, which is CUDA's too unless the environment says otherwise.
    """
    library = nvml or _nvml()
    name, memory, driver = "an NVIDIA graphics processor", None, None
    if library is None:
        return Accelerator(name)
    with suppress(library.NVMLError):
        library.nvmlInit()
        driver = _text(library.nvmlSystemGetDriverVersion())
        handle = library.nvmlDeviceGetHandleByIndex(number)
        name = _text(library.nvmlDeviceGetName(handle))
        memory = int(library.nvmlDeviceGetMemoryInfo(handle).total)
    return Accelerator(name, memory, driver)


def _nvml() -> Any:
    with suppress(ImportError):
        import pynvml

        return pynvml
    return None


def _text(found: str | bytes) -> str:
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else found
