"""The operator table: every record, by name.

Families of operators are imported when one of theirs is looked up, or when the table is gone through: a network has few of the
forty families, and together they would take a fifth of the time of a short command.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Final

from .record import Op

__all__ = ["OPERATORS"]

_FAMILIES: Final[Mapping[str, str]] = {
    "convolution": "CONVOLUTION_OPERATORS",
    "linear": "LINEAR_OPERATORS",
    "einsum": "EINSUM_OPERATORS",
    "attention": "ATTENTION_OPERATORS",
    "linear_attention": "LINEAR_ATTENTION_OPERATORS",
    "recurrent": "RECURRENT_OPERATORS",
    "stateful": "STATEFUL_OPERATORS",
    "embedding": "EMBEDDING_OPERATORS",
    "pooling": "POOLING_OPERATORS",
    "unary": "UNARY_OPERATORS",
    "elementwise": "ELEMENTWISE_OPERATORS",
    "geometry": "GEOMETRY_OPERATORS",
    "views": "VIEW_OPERATORS",
    "moves": "MOVE_OPERATORS",
    "blocks": "BLOCK_OPERATORS",
    "packing": "PACKING_OPERATORS",
    "windows": "WINDOW_OPERATORS",
    "reductions": "REDUCTION_OPERATORS",
    "normalisation": "NORMALISATION_OPERATORS",
    "quantisation": "QUANTISATION_OPERATORS",
    "gathering": "GATHERING_OPERATORS",
    "placing": "PLACING_OPERATORS",
    "addressing": "ADDRESSING_OPERATORS",
    "generators": "GENERATOR_OPERATORS",
    "sampling": "SAMPLING_OPERATORS",
    "selection": "SELECTION_OPERATORS",
    "detection": "DETECTION_OPERATORS",
    "segments": "SEGMENT_OPERATORS",
    "hashing": "HASHING_OPERATORS",
    "spectral": "SPECTRAL_OPERATORS",
    "signals": "SIGNAL_OPERATORS",
    "audio": "AUDIO_OPERATORS",
    "solving": "SOLVING_OPERATORS",
    "sequences": "SEQUENCE_OPERATORS",
    "text": "TEXT_OPERATORS",
    "losses": "LOSS_OPERATORS",
    "gradients": "GRADIENT_OPERATORS",
    "features": "FEATURE_OPERATORS",
    "classes": "CLASS_OPERATORS",
    "forests": "FOREST_OPERATORS",
    "training": "TRAINING_OPERATORS",
    "variables": "VARIABLE_OPERATORS",
}
"""What the records of each module are called there, in the order of the table."""

_USUAL: Final = (
    "convolution",
    "linear",
    "pooling",
    "unary",
    "elementwise",
    "views",
    "normalisation",
    "moves",
    "quantisation",
    "reductions",
    "gathering",
)
"""Families that most networks have: looked through first."""


class _Table(Mapping[str, Op]):
    """The records of all families, each imported once it may be the one that is looked for."""

    def __init__(self) -> None:
        self._known: dict[str, Op] = {}
        self._left = tuple(dict.fromkeys((*_USUAL, *_FAMILIES)))

    def __getitem__(self, name: str) -> Op:
        known = self._known
        while name not in known and self._left:
            family = self._left[0]
            known.update({op.name: op for op in _records(family)})
            # Taken off only now, by name: another thread may be at the same family.
            self._left = tuple([one for one in self._left if one != family])
        return known[name]

    def __iter__(self) -> Iterator[str]:
        return (op.name for family in _FAMILIES for op in _records(family))

    def __len__(self) -> int:
        return sum(len(_records(family)) for family in _FAMILIES)


def _records(family: str) -> Sequence[Op]:
    found: Sequence[Op] = getattr(import_module(f".{family}", __package__), _FAMILIES[family])
    return found


OPERATORS: Final[Mapping[str, Op]] = _Table()
