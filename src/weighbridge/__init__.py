"""What a neural network costs before it is shipped: exact under a named convention, or it says what it left out.

>>> import weighbridge
>>> report = weighbridge.weigh("alexnet", on=["stm32f746"])
>>> report.facts.macs
724406816
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weighbridge.api import load, weigh
    from weighbridge.budgets.record import Checked
    from weighbridge.calibrating import calibrated
    from weighbridge.changing import what_if
    from weighbridge.checking import check
    from weighbridge.comparing import compare
    from weighbridge.compressing import compress
    from weighbridge.compression.record import Compression
    from weighbridge.errors import (
        BadModel,
        BadSpec,
        GraphError,
        MeasureError,
        MissingExtra,
        NeedsShape,
        UnsupportedFormat,
        WeighbridgeError,
    )
    from weighbridge.frontends.torch_inputs import TensorSpec
    from weighbridge.graph import Graph
    from weighbridge.measure.record import Measurement
    from weighbridge.measuring import measured
    from weighbridge.ordering import best_order
    from weighbridge.patching import in_patches
    from weighbridge.report import Report
    from weighbridge.report.calibrated import Calibration
    from weighbridge.report.comparison import Comparison
    from weighbridge.report.measured import Measured
    from weighbridge.report.measured_history import History, history
    from weighbridge.report.ordered import Ordered
    from weighbridge.report.patched import Patched
    from weighbridge.report.validated import Validation
    from weighbridge.report.what_if import WhatIf
    from weighbridge.validating import validated

__all__ = [
    "BadModel",
    "BadSpec",
    "Calibration",
    "Checked",
    "Comparison",
    "Compression",
    "Graph",
    "GraphError",
    "History",
    "MeasureError",
    "Measured",
    "Measurement",
    "MissingExtra",
    "NeedsShape",
    "Ordered",
    "Patched",
    "Report",
    "TensorSpec",
    "UnsupportedFormat",
    "Validation",
    "WeighbridgeError",
    "WhatIf",
    "__version__",
    "best_order",
    "calibrated",
    "check",
    "compare",
    "compress",
    "history",
    "in_patches",
    "load",
    "measured",
    "validated",
    "weigh",
    "what_if",
]

__version__ = "0.1.0.dev0"

# A module for every public name: each is imported when it is first used, so that `import weighbridge` costs next to nothing.
_HOMES = {
    "best_order": "ordering",
    "calibrated": "calibrating",
    "compare": "comparing",
    "check": "checking",
    "compress": "compressing",
    "history": "report.measured_history",
    "in_patches": "patching",
    "load": "api",
    "measured": "measuring",
    "validated": "validating",
    "weigh": "api",
    "what_if": "changing",
    "Calibration": "report.calibrated",
    "Checked": "budgets.record",
    "Comparison": "report.comparison",
    "Compression": "compression.record",
    "Graph": "graph",
    "History": "report.measured_history",
    "Report": "report",
    "Measured": "report.measured",
    "Measurement": "measure.record",
    "Ordered": "report.ordered",
    "Patched": "report.patched",
    "Validation": "report.validated",
    "WhatIf": "report.what_if",
    "TensorSpec": "frontends.torch_inputs",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    return __all__
