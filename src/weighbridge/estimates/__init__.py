"""What a network would cost on a device: network facts combined with a data sheet, nothing measured.

``estimate`` makes one ``Estimate`` a device.
"""

from weighbridge.estimates.demand import Demand, demand
from weighbridge.estimates.estimate import Conditions, Estimate, estimate
from weighbridge.estimates.fit import Fit, Region, fit
from weighbridge.estimates.latency import Latency, latency
from weighbridge.estimates.precision import precision_named

__all__ = [
    "Conditions",
    "Demand",
    "Estimate",
    "Fit",
    "Latency",
    "Region",
    "demand",
    "estimate",
    "fit",
    "latency",
    "precision_named",
]
