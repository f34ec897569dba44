"""What a user asks for beside the source, checked before any work begins."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.written import BYTE_UNITS, byte_size, number, shown, whole

if TYPE_CHECKING:
    from fractions import Fraction

    from weighbridge.devices.device import Device, EnergyTable
    from weighbridge.estimates import Battery
    from weighbridge.memory.training.request import Training
    from weighbridge.passes import BitRules

__all__ = [
    "Choices",
    "Costs",
    "Reserve",
    "WeightBits",
    "conventions_of",
    "costs_of",
    "devices_of",
    "fps_of",
    "reserve_of",
    "scratch_of",
    "training_asked",
    "unreserved",
    "widths_of",
]

Reserve = Mapping[str, int | str] | Iterable[str]
WeightBits = int | str | Mapping[str, int] | Iterable[str | int]
Path = str | os.PathLike[str]

_TRAINING: Final = {
    "optimiser": "optimiser",
    "rule": "rule",
    "mixed_precision": "mixed_precision",
    "update": "updates",
    "freeze": "frozen",
    "lora": "adapters",
    "checkpoint": "checkpoints",
    "attention": "attention",
}
"""What a mapping may say of training, and what that is called in the core."""
_LARGEST_BATCH: Final = 2**31 - 1
_FPS_SPAN: Final = 10**9
"""From one frame in so many seconds to so many frames a second."""


class Costs(NamedTuple):
    """What is estimated beside fit and latency: throughput at more batch sizes, frames missed, energy, charge."""

    batches: tuple[int, ...] = ()
    fps: Fraction | None = None
    energy: EnergyTable | None = None
    battery: Battery | None = None


class Choices(NamedTuple):
    """All that a report depends on beside the source and its sizes."""

    devices: tuple[Device, ...]
    rules: BitRules | None
    precision: str | None
    batch: int | None
    as_written: bool
    conventions: tuple[str, ...] = ()
    costs: Costs = Costs()
    reserved: tuple[str, ...] = ()
    """The regions that a part is kept of; the devices that have them have the bytes."""
    scratch: str = ""
    training: Training | None = None
    patches: bool = False


def devices_of(on: Path | Device | Iterable[Path | Device]) -> tuple[Device, ...]:
    """The devices that are named, those of a group one by one, each once.  Raises ``BadSpec``."""
    if isinstance(on, (tuple, list)) and not on:
        return ()
    from weighbridge.devices.catalogue import find_all
    from weighbridge.devices.device import Device

    wanted = (on,) if isinstance(on, (str, os.PathLike, Device)) or not isinstance(on, Iterable) else on
    found: list[Device] = []
    for device in wanted:
        if not isinstance(device, (str, os.PathLike, Device)):
            hint = "give the name of a device, the path of a device file, or a Device"
            raise BadSpec(
                f"a device is a name, a path or a Device, not a {type(device).__name__}", where="on", hint=hint
            )
        found += (device,) if isinstance(device, Device) else find_all(os.fspath(device))
    return tuple(dict.fromkeys(found))


def reserve_of(reserve: Reserve, devices: tuple[Device, ...]) -> tuple[tuple[Device, ...], tuple[str, ...]]:
    """The devices with what is asked for reserved in their memories, and the names of those memories as they were given.

    Raises ``BadSpec`` for what is no size, a region that no device has or that is there twice, and more than there is.
    """
    if isinstance(reserve, (Mapping, tuple, list)) and not reserve:
        return devices, ()
    from weighbridge.devices.reserve import region_key, with_reserved

    if not devices:
        raise BadSpec(
            "there is no region without a device", where="reserve", hint="name one; see `weighbridge devices`"
        )
    wanted: dict[str, int] = {}
    for name, size in _reservations(reserve):
        amount = byte_size(size)
        if amount is None:
            hint = f"give bytes, or a number with one of {', '.join(BYTE_UNITS)}: 64KiB"
            raise BadSpec(f"{shown(size)} is no size of {shown(name)}", where="reserve", hint=hint)
        if region_key(name) in map(region_key, wanted):
            raise BadSpec(f"{shown(name)} is there twice", where="reserve", hint="give the sum once")
        wanted[name] = amount
    return with_reserved(devices, wanted), tuple(wanted)


def _reservations(reserve: Reserve) -> Iterator[tuple[str, int | str]]:
    """Pairs of a region and a size as it was given."""
    if isinstance(reserve, Mapping):
        given: Iterable[object] = reserve.items()
    elif isinstance(reserve, str) or not isinstance(reserve, Iterable) or isinstance(reserve, bytes):
        given = (reserve,)
    else:
        given = reserve
    for one in given:
        name, size = one if isinstance(one, tuple) and len(one) == 2 else _halves(one)
        if not isinstance(name, str) or not name.strip():
            raise _no_reservation(one)
        yield name.strip(), size


def _halves(one: object) -> tuple[str, str]:
    name, equals, size = one.rpartition("=") if isinstance(one, str) else ("", "", "")
    if not equals:
        raise _no_reservation(one)
    return name, size


def _no_reservation(one: object) -> BadSpec:
    return BadSpec(f"{shown(one)} reserves nothing", where="reserve", hint="write NAME=SIZE, as in sram=64KiB")


def conventions_of(convention: str | Iterable[str]) -> tuple[str, ...]:
    """The names of the conventions that are asked for, each once.  Raises ``BadSpec``."""
    if isinstance(convention, (tuple, list)) and not convention:
        return ()
    from weighbridge.counts.conventions import convention_named

    wanted = (convention,) if isinstance(convention, str) or not isinstance(convention, Iterable) else convention
    return tuple(dict.fromkeys(convention_named(name) for name in wanted))


def scratch_of(scratch: str | None) -> str:
    """The name of the scratch that is asked for, "" for none.  Raises ``BadSpec``."""
    if not scratch:
        return ""
    from weighbridge.memory import SCRATCH

    if scratch not in SCRATCH:
        hint = f"there is {', '.join(SCRATCH)}"
        raise BadSpec(f"{shown(scratch)} is no scratch of kernels", where="scratch", hint=hint)
    return scratch


def training_asked(train: str | Mapping[str, Any] | Training | None) -> Training | None:
    """The training that is asked for: an optimiser, or a mapping with the names of the command's options.  Raises ``BadSpec``."""
    if train is None:
        return None
    from weighbridge.memory.training.request import Training, training_of

    if isinstance(train, Training):  # what it says can be anything
        return _training({name: getattr(train, field) for name, field in _TRAINING.items()})
    if isinstance(train, str):
        return training_of(train)
    if not isinstance(train, Mapping):
        what = f"how to train is the name of an optimiser or a mapping, not a {type(train).__name__}"
        raise BadSpec(what, where="train", hint="give 'adam', or {'optimiser': 'adam', 'update': ['biases']}")
    unknown = [name for name in train if name not in _TRAINING]
    if unknown:
        raise BadSpec(
            f"{shown(unknown[0])} says nothing of training", where="train", hint=f"there are {', '.join(_TRAINING)}"
        )
    return _training(train)


def _training(said: Mapping[str, Any]) -> Training:
    from weighbridge.memory.training.request import training_of

    options = {_TRAINING[name]: value for name, value in said.items()}
    for name in ("updates", "frozen", "adapters", "checkpoints"):
        options[name] = _listed(options.get(name, ()))
    return training_of(options.pop("optimiser", "sgd"), **options)


def _listed(given: object) -> tuple[Any, ...]:
    """What several of can be given: one by itself, a list, or a mapping (``{"fc*": 8}`` for ``fc*=8``)."""
    if isinstance(given, Mapping):
        return tuple(given.items())
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else (given,)


def widths_of(
    weight_bits: WeightBits | None, activation_bits: int | None, precision: str | None
) -> tuple[BitRules | None, str | None]:
    """The widths to set, if any, and the precision under the name that device files use.  Raises ``BadSpec``."""
    if weight_bits is None and activation_bits is None and precision is None:
        return None, None
    from weighbridge.estimates import precision_named
    from weighbridge.passes import bit_rules

    if weight_bits is None:
        weights: list[str | int] = []
    elif isinstance(weight_bits, (int, str)):
        weights = [weight_bits]
    elif isinstance(weight_bits, Mapping):
        weights = [f"{target}={bits}" for target, bits in weight_bits.items()]
    elif isinstance(weight_bits, Iterable) and not isinstance(weight_bits, bytes):
        weights = [rule if isinstance(rule, int) else str(rule) for rule in weight_bits]
    else:
        weights = [str(weight_bits)]
    if precision is not None:
        precision = precision_named(precision)
        bits = int(re.sub(r"\D", "", precision))
        weights.insert(0, bits)
        activation_bits = bits if activation_bits is None else activation_bits
    return bit_rules(weights, activation_bits), precision


def costs_of(
    devices: tuple[Device, ...],
    batches: Iterable[int],
    fps: float | str | None,
    energy: Path | EnergyTable | None,
    battery: str | None,
    *,
    trains: bool = False,
) -> Costs:
    """The costs to estimate.  Raises ``BadSpec`` for one that has nothing to be estimated from, and for no number."""
    if fps is None and energy is None and battery is None and isinstance(batches, (tuple, list)) and not batches:
        return Costs()
    from weighbridge.estimates import battery_named

    sizes = _batches(batches)
    if ((sizes and not trains) or fps is not None) and not devices:
        what = "frames missed need" if fps is not None else "throughput by batch needs"
        raise BadSpec(f"{what} a device", where="on", hint="name one; see `weighbridge devices`")
    table = _table(energy)
    if battery is not None and table is None and not any(device.energy for device in devices):
        hint = "name a table of energies, as in --energy 45nm, or a device that has one"
        raise BadSpec("there is no charge without an energy", where="battery", hint=hint)
    return Costs(
        sizes,
        None if fps is None else fps_of(fps),
        table,
        None if battery is None else battery_named(battery),
    )


def _batches(batches: Iterable[int]) -> tuple[int, ...]:
    found: list[int] = []
    for given in batches if isinstance(batches, Iterable) and not isinstance(batches, (str, bytes)) else (batches,):
        size = whole(given)
        if size is None or not 0 < size <= _LARGEST_BATCH:
            hint = f"give whole numbers from 1 to {_LARGEST_BATCH:,}, such as 1, 8, 32"
            raise BadSpec(f"{shown(given)} is no batch size", where="batches", hint=hint)
        found.append(size)
    return tuple(dict.fromkeys(found))


def fps_of(fps: float | str) -> Fraction:
    """Frames a second, exactly as they are written.  Raises ``BadSpec`` for what is no number from 1e-9 to 1e9."""
    rate = number(fps)
    if rate is None or not 1 <= rate * _FPS_SPAN <= _FPS_SPAN**2:
        hint = "give frames a second from 1e-9 to 1e9, such as 30 or 29.97"
        raise BadSpec(f"{shown(fps)} is no frame rate", where="fps", hint=hint)
    return rate


def _table(energy: Path | EnergyTable | None) -> EnergyTable | None:
    if energy is None:
        return None
    from weighbridge.devices.catalogue import find_energy
    from weighbridge.devices.device import EnergyTable

    if isinstance(energy, EnergyTable):
        return energy
    if not isinstance(energy, (str, os.PathLike)):
        what = f"a table of energies is a name, a path or an EnergyTable, not a {type(energy).__name__}"
        raise BadSpec(what, where="energy", hint="`weighbridge energy` lists the names")
    return find_energy(os.fspath(energy))


def unreserved(choices: Choices) -> Iterator[str]:
    """Which devices do not have a region of which bytes are to be kept."""
    if not choices.reserved:
        return
    from weighbridge.devices.reserve import lacks

    for name in choices.reserved:
        without = [device.name for device in choices.devices if lacks(device, name)]
        if without:
            yield f"nothing is reserved in {name} on {', '.join(without)}: there is no such region"
