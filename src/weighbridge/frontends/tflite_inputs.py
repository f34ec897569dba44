"""What a user says of a TensorFlow Lite model: which of its signatures to weigh, and shapes of inputs by their names.

An input has two names: that of its tensor (``serving_default_x:0``), which reports show, and that of the signature (``x``),
which callers of the model use.  Either will do; messages use the second, where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weighbridge.errors import BadSpec
from weighbridge.frontends.declared import Declared
from weighbridge.frontends.fresh_names import MAX_NAME, Names
from weighbridge.frontends.tflite_model import Signature, TfliteModel
from weighbridge.graph import Shape
from weighbridge.named_tuple import NamedTuple

__all__ = ["Entry", "Input", "by_label", "entry_of", "inputs_of"]


class Entry(NamedTuple):
    """The subgraph to weigh, and the signature that it is known by, None without one."""

    subgraph: int
    signature: Signature | None


class Input(NamedTuple):
    """``number`` is that of the tensor, ``name`` its unique name, ``label`` what messages call the input."""

    number: int
    name: str
    label: str
    declared: Declared


def entry_of(model: TfliteModel, key: str) -> Entry:
    """The subgraph behind a signature, the first one by default.  Raises ``BadSpec`` for a signature that does not exist."""
    for one in model.signatures:
        if one.key == key if key else one.subgraph == 0:
            return Entry(one.subgraph, one)
    if not key:
        return Entry(0, None)
    known = ", ".join(one.key for one in model.signatures)
    raise BadSpec(
        f"there is no signature {key!r}", hint=f"its signatures are {known}" if known else "it has no signatures"
    )


def inputs_of(model: TfliteModel, entry: Entry) -> tuple[Input, ...]:
    """The inputs, once each; only a size of -1 in a shape is open, whatever the signature of the shape lets change."""
    graph = model.subgraphs[entry.subgraph]
    numbers = tuple(dict.fromkeys(graph.inputs))
    names = Names()
    unique = {number: names.fresh((graph.tensors[number].name or f"input_{number}")[:MAX_NAME]) for number in numbers}
    theirs = {number: name[:MAX_NAME] for name, number in (entry.signature.inputs if entry.signature else {}).items()}
    taken, found = {*unique.values(), ""}, []
    for number, name in unique.items():
        tensor = graph.tensors[number]
        sizes = tuple([None if size == -1 else size for size in tensor.shape or ()])
        label = theirs.get(number, name)
        # A name that is the tensor of another input would say two things.
        label = name if label in taken else label
        taken.add(label)
        found.append(Input(number, name, label, Declared(tensor.dtype, sizes)))
    return tuple(found)


def by_label(inputs: Sequence[Input], given: Mapping[str, Shape]) -> dict[str, Shape]:
    """Shapes by label, from shapes by either name; one that is no name stays, for others to refuse."""
    labels = {one.name: one.label for one in inputs}
    found: dict[str, Shape] = {}
    for name, shape in given.items():
        label = labels.get(name, name)
        if label in found:
            raise BadSpec(f"the shape of the input {name!r} is given twice", hint=f"{label} is another name for it")
        found[label] = shape
    return found
