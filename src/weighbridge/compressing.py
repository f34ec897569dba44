"""What a source weighs compressed: its weights are read where they are at hand, or ratios are taken for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from weighbridge.compression.layer import LayerSize, Weight, check_kept, from_histograms, from_ratios, unread
from weighbridge.compression.record import Compression, compression
from weighbridge.compression.rules import Rule, TargetRule, checked, rules_of
from weighbridge.compression.weights import Held, held_by
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadModel, BadSpec, GraphError
from weighbridge.graph import Graph
from weighbridge.named_tuple import NamedTuple
from weighbridge.passes.targets import REST
from weighbridge.sources import Given, Sizes, Source, check, file_of, is_module, is_named_model, quietly, read
from weighbridge.written import shown

if TYPE_CHECKING:
    from weighbridge.frontends.compression_plan import Plan
    from weighbridge.frontends.weights import NamedTensor, Stored, Values

__all__ = ["compress"]

Ratios = float | str | Mapping[str, float | str] | Iterable[str]
"""A number for every layer that nothing else names, numbers by target, or rules as ``["fc*=0.1", "rest=0.4"]``."""
Tell = Callable[[str], None]

_FIELDS: Final = {
    "keep": "keep",
    "codebook": "codebook_bits",
    "index_bits": "index_bits",
    "huffman_values": "huffman_value_bits",
    "huffman_indices": "huffman_index_bits",
    "fillers": "fillers",
}
"""The field of a rule that each argument is for."""
_BARE: Final = ("safetensors", "torch", "pickle")
"""Formats that hold tensors and no graph; a pickle is one of PyTorch's older files."""
_SHOWN: Final = 3


class _Read(NamedTuple):
    """What a source holds, and the values of its weights; None where they are not read."""

    held: Held
    values: Values | None
    origin: str
    format: str
    notes: tuple[str, ...] = ()


def compress(  # noqa: PLR0913 - the options are those of the command
    source: Source | Graph | Mapping[str, Any] | Any,
    *,
    keep: Ratios | None = None,
    codebook: Ratios | None = None,
    index_bits: Ratios | None = None,
    huffman_values: Ratios | None = None,
    huffman_indices: Ratios | None = None,
    fillers: Ratios | None = None,
    plan: str | os.PathLike[str] | None = None,
    ratios_only: bool = False,
    batch: int | None = None,
    sequence: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    progress: Tell | None = None,
) -> Compression:
    """What ``source`` weighs pruned, shared and Huffman coded, layer by layer.

    The weights of an ONNX or TensorFlow Lite file, of a safetensors file, of a PyTorch module or ``state_dict``, and of a file of
    one, are read and really pruned, shared and coded; every other source that ``weigh`` takes has ratios alone, as all have with
    ``ratios_only``.

    ``keep`` is the share of weights that pruning leaves, ``codebook`` the bits of a place in a codebook, ``index_bits`` those of a
    relative index (4 unless given), each one number for all weights, a mapping from targets (``first``, ``last-3``, ``rest``, a
    name, a pattern) to numbers, or a list such as ``["fc*=0.1", "rest=0.4"]``.  ``huffman_values`` and ``huffman_indices`` are
    averages of bits in a Huffman code, ``fillers`` the fillers for every kept weight: for ratios alone, as they are found where weights
    are read.  ``plan`` is a plan by name (``"deep-compression"``) or file that says all this; the arguments override it.

    ``batch``, ``sequence``, ``dims``, ``inputs`` and ``kwargs`` are as in ``load``.  ``progress`` is called with the name of each stage.

    Raises what ``load`` does, ``BadSpec`` for a target that names no weights, for a value that cannot be and for a layer of which
    nothing would be kept, ``BadModel`` for a file that is damaged or holds more than weights, and ``MissingExtra`` where the
    libraries that read it are not installed.
    """
    from weighbridge import __version__

    tell = progress or quietly
    found_plan = _plan(plan)
    arguments = (keep, codebook, index_bits, huffman_values, huffman_indices, fillers)
    options = [rule for field, given in zip(_FIELDS.items(), arguments, strict=True) for rule in _stated(*field, given)]
    rules = [*(found_plan.rules if found_plan else ()), *options]
    found = _read(source, Given(batch, sequence, dims, inputs, kwargs), tell, ratios_only)
    by_weight = rules_of(found.held.targets, rules)
    layers = [_sized(weight, by_weight[weight.parameter], found.values, tell) for weight in found.held.weights]
    return compression(
        found.origin,
        layers,
        found.held.others,
        tool=f"weighbridge {__version__}",
        kind=found.format,
        plan=found_plan.name if found_plan else None,
        published=found_plan.published if found_plan else None,
        notes=_notes(found, found_plan, rules, layers),
    )


def _plan(plan: str | os.PathLike[str] | None) -> Plan | None:
    if plan is None:
        return None
    from weighbridge.frontends.compression_plan import read_plan

    path = os.fspath(plan) if isinstance(plan, (str, os.PathLike)) else None
    if not isinstance(path, str):
        raise BadSpec(f"must be the name or the path of a plan, not {shown(plan)}", where="plan")
    return read_plan(path)


def _stated(name: str, field: str, given: Ratios | None) -> Iterator[TargetRule]:
    """The rules that an argument states.  Raises ``BadSpec`` for one that is none."""
    if given is None:
        return
    rules: Iterable[tuple[object, object]]
    if isinstance(given, Mapping):
        rules = given.items()
    elif isinstance(given, Iterable) and not isinstance(given, (str, bytes, bytearray)):
        rules = [_split(one) for one in given]
    else:
        rules = [_split(given)]
    for target, value in rules:
        if not isinstance(target, str) or not target:
            raise BadSpec(f"a rule for {value!r} names no layer", where=name, hint="write fc6=0.1, rest=0.4 or 0.4")
        try:
            yield TargetRule(target, field, checked(field, value), name)
        except BadSpec as error:
            raise BadSpec(f"{target}: {error.what}" if target != REST else error.what, where=name) from None


def _split(rule: object) -> tuple[object, object]:
    """``target=value`` as a pair; a value alone is for the rest."""
    if not isinstance(rule, str):
        return REST, rule
    target, separator, value = rule.rpartition("=")
    return (target, value) if separator else (REST, value)


def _read(source: Any, given: Given, tell: Tell, ratios_only: bool) -> _Read:
    if isinstance(source, Graph):
        check(source, given)
        return _Read(held_by(source), None, "", "graph")
    if isinstance(source, Mapping) and not _is_state(source):
        raise BadSpec(
            "a mapping of weights has PyTorch tensors by name", hint="give the state_dict of a module, or a file"
        )
    if is_module(source) or isinstance(source, Mapping):
        return _of_state(source, given, ratios_only)
    bare = _bare_file(source)
    if bare is not None:
        _no_sizes(given, "a file of weights has no inputs")
        tell(f"reading {bare[0]}")
        return _of_tensors(_tensors_of(*bare), os.fspath(source), bare[1], ratios_only)
    check(source, given)
    values: dict[str, Values] = {}
    loaded = read(source, given, tell, None if ratios_only else _readers(values))
    return _Read(held_by(loaded.graph), values.get("values"), loaded.origin, loaded.format)


def _no_sizes(given: Given, what: str) -> None:
    if not given.is_empty:
        raise BadSpec(what, hint="leave out batch, sequence, dims, inputs and kwargs")


def _is_state(source: Mapping[str, Any]) -> bool:
    from weighbridge.frontends.weights_torch import is_state

    return is_state(source)


def _of_state(source: Any, given: Given, ratios_only: bool) -> _Read:
    from weighbridge.frontends.weights_torch import tensors_of_module, tensors_of_state

    _no_sizes(given, "the weights of a module are read without its forward")
    tensors = tensors_of_module(source) if is_module(source) else tensors_of_state(source)
    return _of_tensors(tensors, "", "torch", ratios_only)


def _of_tensors(tensors: list[NamedTensor], origin: str, kind: str, ratios_only: bool) -> _Read:
    from weighbridge.frontends.weights import bare

    try:
        held, values, notes = bare(tensors)
    except GraphError as error:  # a shape that none can be
        raise BadModel(error.what, where=Path(origin).name, hint="the file is damaged: export it again") from None
    if not held.weights:
        raise BadModel(
            "there are no weights in it", where=origin, hint="name what holds tensors of two dimensions or more"
        )
    return _Read(held, None if ratios_only else values, origin, kind, tuple(notes))


def _bare_file(source: Any) -> tuple[Path, str] | None:
    """The path and format of a file that holds tensors and no graph."""
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else ""
    if not isinstance(path, str) or is_named_model(path):
        return None
    found = file_of(path)
    if found is None or found[1] or not found[0].is_file():
        return None
    from weighbridge.frontends.sniff import identify

    kind = identify(found[0])
    return (found[0], kind) if kind in _BARE else None


def _tensors_of(path: Path, kind: str) -> list[NamedTensor]:
    if kind == "safetensors":
        from weighbridge.frontends.weights_safetensors import tensors_of

        return tensors_of(path)
    from weighbridge.frontends.weights_torch import tensors_of_file

    return tensors_of_file(path)


def _readers(into: dict[str, Values]) -> dict[str, Callable[[Path, str, Sizes], Graph]]:
    """Readers that leave the values of what they read in ``into``."""

    def onnx(path: Path, choices: str, sizes: Sizes) -> Graph:
        from weighbridge.frontends.from_onnx import load_stored

        inputs = {name: tuple(shape) for name, shape in sizes.inputs.items()}
        found = load_stored(path, batch=sizes.batch, sequence=sizes.sequence, dims=sizes.dims, inputs=inputs)
        into["values"] = _with_extra("weights_onnx", found)
        return found.graph

    def tflite(path: Path, choices: str, sizes: Sizes) -> Graph:
        from weighbridge.frontends.from_tflite import load_stored

        if sizes.sequence is not None:
            raise BadSpec(
                "this format names no dimensions", where="sequence", hint="give the whole shape: --input x=1x128"
            )
        inputs = {name: tuple(shape) for name, shape in sizes.inputs.items()}
        found = load_stored(path, batch=sizes.batch, dims=sizes.dims, inputs=inputs, signature=choices)
        into["values"] = _with_extra("weights_tflite", found)
        return found.graph

    return {"onnx": onnx, "tflite": tflite}


def _with_extra(module: str, found: Any) -> Values:
    """The values of a graph's parameters, by the module that reads them.  Raises ``MissingExtra`` where NumPy is not there."""
    from importlib import import_module

    from weighbridge.frontends.weights import compress_extra

    try:
        reader = import_module(f"weighbridge.frontends.{module}")
    except ImportError as error:
        raise compress_extra(error) from None
    values: Values = reader.values_of(found)
    return values


def _sized(weight: Weight, rule: Rule, values: Values | None, tell: Tell) -> LayerSize:
    if not weight.bits_each and rule.codebook_bits is None:
        return unread(weight, f"how many bits a value of {weight.dtype} takes is not known")
    if values is None:
        return from_ratios(weight, rule)
    if rule.keep is not None:
        check_kept(weight, rule.keep)
    stored = values.get(weight.parameter)
    if stored is None or stored.read is None:
        return unread(weight, stored.reason if stored else "the file makes it in another way than as a stored tensor")
    tell(f"measuring {weight.name}")
    return _measured(weight, stored, rule)


def _measured(weight: Weight, stored: Stored, rule: Rule) -> LayerSize:
    from weighbridge.frontends.weights_measure import measured

    assert stored.read is not None
    try:
        dtype = DTYPES.get(weight.dtype)
        if dtype is None:
            return unread(weight, f"values of {weight.dtype} are not read")
        values = stored.read()
        found = values if isinstance(values, str) else measured(values, dtype, stored.zero, rule)
    except MemoryError:
        raise BadModel("it does not fit into the memory of this machine", where=weight.name) from None
    if isinstance(found, str):
        return unread(weight, found)
    return from_histograms(weight, found, rule.published)


def _notes(found: _Read, plan: Plan | None, rules: list[TargetRule], layers: list[LayerSize]) -> Iterator[str]:
    yield from found.notes
    if plan is not None:
        source = f", after {plan.published.source}" if plan.published else ""
        yield f"plan {plan.name}: {plan.title}{source}"
    unsized = found.held.others.unsized
    if unsized:
        yield f"{_some(list(unsized))}: how many bytes they take is not known; they are in no figure"
    for reason, names in _by_note(layers).items():
        yield f"{_some(names)}: {reason}"
    if found.values is None:
        yield from _notes_of_ratios(layers)
        return
    given = {rule.field for rule in rules}
    if given & {"huffman_value_bits", "huffman_index_bits", "fillers"}:
        yield "averages of Huffman codes and numbers of fillers that were given are not used: the weights were read and coded"
    if any(layer.basis == "not read" for layer in layers):
        yield "layers that were not read count as they are held; with ratios alone (--ratios-only) they can be sized nevertheless"
    longer = [layer.name for layer in layers if layer.bits > layer.before_huffman_bits]
    if longer:
        yield f"the tables of codes take more than the codes save in {_some(longer)}"
    plain = [layer.name for layer in layers if layer.basis == "weights" and layer.values.huffman_bits is None]
    if plain:
        yield f"the values of {_some(plain)} stay as they are and have no code: a codebook makes them few enough for one"


def _notes_of_ratios(layers: list[LayerSize]) -> Iterator[str]:
    yield "no weights were read: sizes follow from the ratios given; a layer without one is dense"
    unknown = [layer.name for layer in layers if layer.fillers is None]
    if unknown:
        yield (
            f"how many fillers there are in {_some(unknown)} depends on where the weights stand: they are left out, so sizes are "
            "lower bounds; the estimate beside has those expected of positions that are independent of each other"
        )


def _by_note(layers: list[LayerSize]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for layer in layers:
        for note in layer.notes:
            found.setdefault(note, []).append(layer.name)
    return found


def _some(names: list[str]) -> str:
    shown = ", ".join(name[:60] for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN:,} more"
