"""What a network would cost on a device: network facts combined with a data sheet, and beside it what is to be expected of kernels that
others measured; nothing is measured here.

``estimate`` makes one ``Estimate`` a device.
"""

from weighbridge.estimates.charge import Battery, Charge, battery_named, charge
from weighbridge.estimates.deadline import Deadline, deadline, frames_missed
from weighbridge.estimates.demand import ArenaDemand, Demand, NodeDemand, demand, stored_bytes, stored_exact
from weighbridge.estimates.energy import Arithmetic, Bill, DeviceEnergy, LevelEnergy, bill, device_energy
from weighbridge.estimates.estimate import Conditions, Estimate, estimate
from weighbridge.estimates.expected import Expected, expected
from weighbridge.estimates.fit import Fit, Region, fit
from weighbridge.estimates.latency import Latency, latency, utilisation
from weighbridge.estimates.layerwise import Layerwise, NodeTime, layerwise, node_times
from weighbridge.estimates.needs import Need
from weighbridge.estimates.patched_fit import PatchedFit, PatchedStage
from weighbridge.estimates.place import moved_on, placed
from weighbridge.estimates.precision import precision_named
from weighbridge.estimates.roofs import Roof, Roofline, RoofPoint, roofs
from weighbridge.estimates.throughput import BatchPoint, Throughput, batch_point, throughput
from weighbridge.estimates.training import TrainingFit, largest_batch, training_fit, written_bytes

__all__ = [
    "ArenaDemand",
    "Arithmetic",
    "BatchPoint",
    "Battery",
    "Bill",
    "Charge",
    "Conditions",
    "Deadline",
    "Demand",
    "DeviceEnergy",
    "Estimate",
    "Expected",
    "Fit",
    "Latency",
    "Layerwise",
    "LevelEnergy",
    "Need",
    "NodeDemand",
    "NodeTime",
    "PatchedFit",
    "PatchedStage",
    "Region",
    "Roof",
    "RoofPoint",
    "Roofline",
    "Throughput",
    "TrainingFit",
    "batch_point",
    "battery_named",
    "bill",
    "charge",
    "deadline",
    "demand",
    "device_energy",
    "estimate",
    "expected",
    "fit",
    "frames_missed",
    "largest_batch",
    "latency",
    "layerwise",
    "moved_on",
    "node_times",
    "placed",
    "precision_named",
    "roofs",
    "stored_bytes",
    "stored_exact",
    "throughput",
    "training_fit",
    "utilisation",
    "written_bytes",
]
