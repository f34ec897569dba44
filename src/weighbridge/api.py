"""The Python interface: a source becomes a graph, a graph becomes a report."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.sources import Given, Loaded, Source, check, read

if TYPE_CHECKING:
    from weighbridge.counts import ConventionFacts, NetworkFacts
    from weighbridge.devices.device import Device
    from weighbridge.estimates import Estimate
    from weighbridge.memory import MemoryPlan
    from weighbridge.passes import BitRules
    from weighbridge.report import OnDevice, Report

__all__ = ["load", "weigh"]

Module = Any
"""A ``torch.nn.Module``, whose type is not known here."""
Inputs = Any
"""Shapes by the names of a file's inputs, or what a module's ``forward`` gets."""
WeightBits = int | str | Mapping[str, int] | Iterable[str | int]

_NOT_ESTIMATED: Final = "times of single nodes, throughput and energy are not estimated"


def load(
    source: Source | Module,
    *,
    batch: int | None = None,
    sequence: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Inputs = None,
    kwargs: Mapping[str, Any] | None = None,
) -> Graph:
    """The graph of a PyTorch module, an ONNX file, a network file (TOML), a textbook network such as
    ``"alexnet:resolution=256"``, or a model by name: ``"torchvision:resnet50"``, ``"timm:vit_base_patch16_224"``,
    ``"transformers:path/to/config.json"``.

    What a file leaves open is given here: ``batch``, ``sequence`` (dimensions named like a sequence: seq, sequence_length), ``dims`` by
    name, whole shapes by input in ``inputs``.  In a network of TOML they are its parameters of these names.  For a module
    ``inputs`` are what its ``forward`` gets: a tensor, a ``TensorSpec`` or a shape (whole numbers, float32), several of these
    by position, or a mapping of these by name; ``kwargs`` are more by name.  A model by name has inputs of its own, of
    ``batch`` and ``sequence``, unless they are given.  A module and the tensors are left as they are.

    Raises ``BadSpec`` for a source that does not exist and for sizes that do not fit it, ``UnsupportedFormat`` for a file
    that no front end reads, ``NeedsShape`` for a dimension or an input that nobody gave, ``BadModel`` for a damaged file and
    a module that fails, and ``MissingExtra`` where the library that reads a format is not installed.
    """
    return read(source, Given(batch, sequence, dims, inputs, kwargs), _quietly).graph


def weigh(  # noqa: PLR0913 - the options are those of the command
    source: Source | Graph | Module,
    *,
    on: Source | Device | Iterable[Source | Device] = (),
    batch: int | None = None,
    sequence: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Inputs = None,
    kwargs: Mapping[str, Any] | None = None,
    weight_bits: WeightBits | None = None,
    activation_bits: int | None = None,
    precision: str | None = None,
    as_written: bool = False,
    convention: str | Iterable[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Everything that is known about a network, and a verdict for each device in ``on`` (names, device files, ``Device``).

    ``source``, the sizes and the inputs are as in ``load``; a ``Graph`` has its sizes already.  ``weight_bits`` is one width
    for all weights, a mapping from targets (``first``, ``last``, ``rest``, a name, a pattern) to widths, or a list such as
    ``["first=8", "rest=4"]``; ``activation_bits`` that of activations.  ``precision`` ("int8", "fp16") is both, and the
    precision of the devices' peak rates; the bit options override it.  ``as_written`` keeps every node instead of folding
    and fusing what a runtime does.  ``convention`` names other counters' conventions (``"fvcore"``), whose figures then stand
    beside ours in ``facts.conventions``.  ``progress`` is called with the name of each stage as it begins.

    Raises what ``load`` does, and ``BadSpec`` for a device, precision, width, target or convention that does not exist.
    """
    given = Given(batch, sequence, dims, inputs, kwargs)
    if not isinstance(source, Graph):
        check(source, given)
    devices = _devices(on)  # whatever the user may have misspelt is looked at before the work begins
    rules, precision = _rules(weight_bits, activation_bits, precision)
    conventions = _conventions(convention)
    tell = progress or _quietly
    if not isinstance(source, Graph):
        loaded = read(source, given, tell)
    elif given.is_empty:
        loaded = Loaded(source, "graph", "")
    else:
        raise BadSpec("a graph has its sizes already", hint="give batch, sequence, dims and inputs to load")
    size = None if batch is None else int(batch)
    tell("counting and planning the memory")
    return _report(loaded, _Choices(devices, rules, precision, size, as_written, conventions))


def _quietly(stage: str) -> None:
    """Tell nobody."""


class _Choices(NamedTuple):
    devices: tuple[Device, ...]
    rules: BitRules | None
    precision: str | None
    batch: int | None
    as_written: bool
    conventions: tuple[str, ...] = ()


def _devices(on: Source | Device | Iterable[Source | Device]) -> tuple[Device, ...]:
    if isinstance(on, (tuple, list)) and not on:
        return ()
    from weighbridge.devices.catalogue import find
    from weighbridge.devices.device import Device

    wanted = (on,) if isinstance(on, (str, os.PathLike, Device)) or not isinstance(on, Iterable) else on
    found = []
    for device in wanted:
        if not isinstance(device, (str, os.PathLike, Device)):
            hint = "give the name of a device, the path of a device file, or a Device"
            raise BadSpec(
                f"a device is a name, a path or a Device, not a {type(device).__name__}", where="on", hint=hint
            )
        found.append(device if isinstance(device, Device) else find(os.fspath(device)))
    return tuple(found)


def _conventions(convention: str | Iterable[str]) -> tuple[str, ...]:
    """The names of the conventions that are asked for, each once."""
    if isinstance(convention, (tuple, list)) and not convention:
        return ()
    from weighbridge.counts.conventions import convention_named

    wanted = (convention,) if isinstance(convention, str) or not isinstance(convention, Iterable) else convention
    return tuple(dict.fromkeys(convention_named(name) for name in wanted))


def _rules(
    weight_bits: WeightBits | None, activation_bits: int | None, precision: str | None
) -> tuple[BitRules | None, str | None]:
    """The widths to set, if any, and the precision under the name that device files use."""
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


def _report(loaded: Loaded, choices: _Choices) -> Report:
    from weighbridge import __version__
    from weighbridge.counts import count
    from weighbridge.memory import plan
    from weighbridge.passes import deploy, set_bits
    from weighbridge.report import Network, NetworkInput, Report

    graph = loaded.graph
    held = graph if choices.rules is None else set_bits(graph, choices.rules)
    deployed = held if choices.as_written else deploy(held)
    memory = plan(deployed)
    facts = count(held, deployed, peak_elements=memory.peak_elements)
    facts = facts._replace(conventions=_by_conventions(held, choices.conventions))
    estimates = _estimates(deployed, facts, memory, choices)
    inputs = [held.tensors[tensor] for tensor in held.inputs]
    notes = [*held.notes, *facts.notes, *memory.notes, *_width_notes(choices.rules)]
    if choices.devices:
        notes.append(_NOT_ESTIMATED)
    return Report(
        tool=f"weighbridge {__version__}",
        network=Network(
            name=graph.name,
            source=loaded.origin,
            format=loaded.format,
            inputs=tuple(NetworkInput(tensor.id, tensor.shape, tensor.dtype.name) for tensor in inputs),
            graph="as written" if choices.as_written else "deployed",
            capture=graph.capture or None,
        ),
        facts=facts._replace(notes=()),
        memory=memory._replace(notes=()),
        on=tuple(_on_device(one) for one in estimates),
        notes=tuple(dict.fromkeys(notes)),
    )


def _by_conventions(held: Graph, names: Sequence[str]) -> Mapping[str, ConventionFacts]:
    if not names:
        return {}
    from weighbridge.counts.conventions import CONVENTIONS, by_convention

    return {name: by_convention(held, CONVENTIONS[name]) for name in names}


def _width_notes(rules: BitRules | None) -> tuple[str, ...]:
    """What the widths that were asked for leave alone."""
    if rules is None or not rules.weights:
        return ()
    from weighbridge.report.record import WIDTHS_ASKED_FOR

    names_more = any(target not in ("first", "last", "rest") for target, _ in rules.weights)
    unless = " unless a rule names them" if names_more else ""
    return (f"{WIDTHS_ASKED_FOR}; biases and normalisation stay at their width{unless}",)


def _estimates(deployed: Graph, facts: NetworkFacts, memory: MemoryPlan, choices: _Choices) -> list[Estimate]:
    if not choices.devices:
        return []
    from weighbridge.estimates import demand, estimate

    needs = demand(deployed, facts, memory)
    batch = _batch(deployed) if choices.batch is None else choices.batch
    return [estimate(needs, device, choices.precision, batch) for device in choices.devices]


def _batch(graph: Graph) -> int | None:
    """The batch size, by the rule that the first dimension of the first input is it."""
    shape = graph.tensors[graph.inputs[0]].shape if graph.inputs else None
    return shape[0] if shape else None


def _on_device(estimate: Estimate) -> OnDevice:
    from weighbridge.report import OnDevice

    return OnDevice(estimate.device, estimate.conditions, estimate.fit, estimate.latency, notes=estimate.notes)
