"""The Python interface: a source becomes a graph, a graph becomes a report."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, SupportsIndex

from weighbridge.errors import BadSpec, UnsupportedFormat
from weighbridge.graph import Graph

if TYPE_CHECKING:
    from weighbridge.counts import ConventionFacts, NetworkFacts
    from weighbridge.devices.device import Device
    from weighbridge.estimates import Estimate
    from weighbridge.memory import MemoryPlan
    from weighbridge.passes import BitRules
    from weighbridge.report import OnDevice, Report

__all__ = ["load", "weigh"]

Source = str | os.PathLike[str]
WeightBits = int | str | Mapping[str, int] | Iterable[str | int]

_LOOKS_LIKE_A_FILE: Final = re.compile(r"[/\\]|\.[A-Za-z][A-Za-z0-9]{0,11}$")
_NOT_ESTIMATED: Final = "times of single nodes, throughput and energy are not estimated"


class _Sizes(NamedTuple):
    """What the user says about the dimensions that a source leaves open."""

    batch: int | None = None
    sequence: int | None = None
    dims: Mapping[str, int] = {}
    inputs: Mapping[str, Sequence[int]] = {}

    @property
    def are_given(self) -> bool:
        return self != _Sizes()

    @property
    def parameters(self) -> dict[str, int | float | str]:
        """As the parameters of a network written as TOML."""
        named = {"batch": self.batch, "sequence": self.sequence, **self.dims}
        return {name: size for name, size in named.items() if size is not None}


def load(
    source: Source,
    *,
    batch: int | None = None,
    sequence: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Mapping[str, Sequence[int]] | None = None,
) -> Graph:
    """The graph of an ONNX file, a network file (TOML), or a textbook network such as ``"alexnet:resolution=256"``.

    What a file leaves open is given here: ``batch``, ``sequence`` (dimensions named like a sequence: seq, sequence_length), ``dims`` by
    name, whole shapes by input in ``inputs``.  In a network of TOML they are its parameters of these names.

    Raises ``BadSpec`` for a source that does not exist and for sizes that do not fit it, ``UnsupportedFormat`` for a file
    that no front end reads, ``NeedsShape`` for a dimension that nobody gave, ``BadModel`` for a damaged file, and
    ``MissingExtra`` where the library that reads a format is not installed.
    """
    return _read(_path(source), _sizes(batch, sequence, dims, inputs))[0]


def weigh(
    source: Source | Graph,
    *,
    on: Source | Device | Iterable[Source | Device] = (),
    batch: int | None = None,
    sequence: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Mapping[str, Sequence[int]] | None = None,
    weight_bits: WeightBits | None = None,
    activation_bits: int | None = None,
    precision: str | None = None,
    as_written: bool = False,
    convention: str | Iterable[str] = (),
) -> Report:
    """Everything that is known about a network, and a verdict for each device in ``on`` (names, device files, ``Device``).

    ``source`` and the sizes are as in ``load``; a ``Graph`` has its sizes already.  ``weight_bits`` is one width for all
    weights, a mapping from targets (``first``, ``last``, ``rest``, a name, a pattern) to widths, or a list such as
    ``["first=8", "rest=4"]``; ``activation_bits`` that of activations.  ``precision`` ("int8", "fp16") is both, and the
    precision of the devices' peak rates; the bit options override it.  ``as_written`` keeps every node instead of folding
    and fusing what a runtime does.  ``convention`` names other counters' conventions (``"fvcore"``), whose figures then stand
    beside ours in ``facts.conventions``.

    Raises what ``load`` does, and ``BadSpec`` for a device, precision, width, target or convention that does not exist.
    """
    sizes = _sizes(batch, sequence, dims, inputs)
    devices = _devices(on)  # whatever the user may have misspelt is looked at before the work begins
    rules, precision = _rules(weight_bits, activation_bits, precision)
    conventions = _conventions(convention)
    if isinstance(source, Graph):
        if sizes.are_given:
            raise BadSpec("a graph has its sizes already", hint="give batch, sequence, dims and inputs to load")
        graph, kind, origin = source, "graph", ""
    else:
        origin = _path(source)
        graph, kind = _read(origin, sizes)
    return _report(graph, kind, origin, _Choices(devices, rules, precision, batch, as_written, conventions))


def _path(source: object) -> str:
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else None
    if not isinstance(path, str):
        hint = "give the path of a file, or the name of a textbook network"
        raise BadSpec(f"a source is a path or a name, not a {type(source).__name__}", hint=hint)
    return path


def _sizes(batch: object, sequence: object, dims: object, inputs: object) -> _Sizes:
    """The sizes as whole numbers, of Python or of NumPy; what they may be is for the front ends to say."""
    shapes = {
        name: [_whole(size, f"inputs[{name!r}]") for size in _all(shape, f"inputs[{name!r}]")]
        for name, shape in _named(inputs, "inputs")
    }
    return _Sizes(
        None if batch is None else _whole(batch, "batch"),
        None if sequence is None else _whole(sequence, "sequence"),
        {name: _whole(size, f"dims[{name!r}]") for name, size in _named(dims, "dims")},
        shapes,
    )


def _whole(size: object, where: str) -> int:
    if isinstance(size, SupportsIndex) and not isinstance(size, bool):
        return int(size.__index__())
    raise BadSpec(f"must be a whole number, not {size!r}", where=where, hint="give 4, not 4.0 or '4'")


def _all(shape: object, where: str) -> Iterable[object]:
    if isinstance(shape, Iterable) and not isinstance(shape, (str, bytes)):
        return shape
    raise BadSpec(f"must be a list of sizes, not {shape!r}", where=where, hint="give [1, 3, 224, 224]")


def _named(given: object, where: str) -> list[tuple[str, object]]:
    if given is None:
        return []
    if isinstance(given, Mapping) and all(isinstance(name, str) for name in given):
        return list(given.items())
    raise BadSpec(f"must be a mapping from names to sizes, not {given!r}", where=where, hint="give {'name': size}")


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


def _read(source: str, sizes: _Sizes) -> tuple[Graph, str]:
    """The graph and the name of its format."""
    path, choices = Path(source), ""
    before, _, after = source.rpartition(":")
    if before.lower().endswith(".toml") and not os.path.lexists(path):
        path, choices = Path(before), after
    elif not os.path.lexists(path) or (path.is_dir() and _is_textbook(source)):
        return _textbook(source, sizes), "textbook"
    from weighbridge.frontends.sniff import expect, identify

    found = identify(path)
    reader = _READERS.get(found)
    if reader is None:
        expect(path, "onnx")
        hint = "weighbridge reads ONNX models and networks written as TOML"
        raise UnsupportedFormat("this is of no format known here", where=path.name, hint=hint)
    return reader(path, choices, sizes), found


def _onnx(path: Path, choices: str, sizes: _Sizes) -> Graph:
    from weighbridge.frontends.from_onnx import load_onnx

    inputs = {name: tuple(shape) for name, shape in sizes.inputs.items()}
    return load_onnx(path, batch=sizes.batch, sequence=sizes.sequence, dims=sizes.dims, inputs=inputs)


def _toml(path: Path, choices: str, sizes: _Sizes) -> Graph:
    from weighbridge.frontends.from_toml import load_toml, parse_choices

    _no_inputs(sizes, str(path))
    return load_toml(path, {**parse_choices(choices, str(path)), **sizes.parameters})


_READERS: Final[Mapping[str, Callable[[Path, str, _Sizes], Graph]]] = {"onnx": _onnx, "toml": _toml}


def _textbook(source: str, sizes: _Sizes) -> Graph:
    from weighbridge.textbook import find, names

    name = source.partition(":")[0].strip()
    known = names()
    if name not in known:
        raise _unknown(source, name, known)
    _no_inputs(sizes, name)
    return find(source, sizes.parameters)


def _is_textbook(source: str) -> bool:
    from weighbridge.textbook import names

    return source in names()


def _no_inputs(sizes: _Sizes, where: str) -> None:
    if sizes.inputs:
        hint = f"{where}:resolution=256 chooses a size, where it has such a parameter"
        raise BadSpec("the shape of an input follows from this network's own parameters", where=where, hint=hint)


def _unknown(source: str, name: str, known: Sequence[str]) -> BadSpec:
    from difflib import get_close_matches

    if _LOOKS_LIKE_A_FILE.search(source):
        folder = Path(source).parent
        try:
            beside = sorted(path.name for path in folder.iterdir() if path.is_file())
        except (OSError, ValueError):
            return BadSpec(
                "there is no such file", where=source, hint=f"there is no folder {str(folder)!r} that can be read"
            )
        near = get_close_matches(Path(source).name, beside, 1)
        return BadSpec(
            "there is no such file", where=source, hint=f"did you mean {near[0]}?" if near else "check the path"
        )
    near = get_close_matches(name.lower().replace("-", "_"), known, 1)
    meant = f"did you mean {near[0]}? " if near else ""
    what = f"there is neither a file nor a textbook network {name!r}"
    return BadSpec(what, hint=f"{meant}the textbook networks are {', '.join(known)}")


def _report(graph: Graph, kind: str, source: str, choices: _Choices) -> Report:
    from weighbridge import __version__
    from weighbridge.counts import count
    from weighbridge.memory import plan
    from weighbridge.passes import deploy, set_bits
    from weighbridge.report import Network, NetworkInput, Report

    held = graph if choices.rules is None else set_bits(graph, choices.rules)
    deployed = held if choices.as_written else deploy(held)
    memory = plan(deployed)
    facts = count(held, deployed, peak_elements=memory.peak_elements)
    facts = facts._replace(conventions=_by_conventions(held, choices.conventions))
    estimates = _estimates(deployed, facts, memory, choices)
    inputs = [held.tensors[tensor] for tensor in held.inputs]
    notes = [*graph.notes, *facts.notes, *memory.notes, *_width_notes(choices.rules)]
    if choices.devices:
        notes.append(_NOT_ESTIMATED)
    return Report(
        tool=f"weighbridge {__version__}",
        network=Network(
            name=graph.name,
            source=source,
            format=kind,
            inputs=tuple(NetworkInput(tensor.id, tensor.shape, tensor.dtype.name) for tensor in inputs),
            graph="as written" if choices.as_written else "deployed",
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
