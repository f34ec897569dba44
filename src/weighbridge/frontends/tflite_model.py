"""A TensorFlow Lite model as records: structure alone, every offset checked, no weight read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weighbridge.dtypes import DType
from weighbridge.graph import Shape
from weighbridge.named_tuple import NamedTuple

__all__ = ["Operator", "Quantisation", "Signature", "Subgraph", "TfliteModel", "TfliteTensor"]


class Quantisation(NamedTuple):
    """How a tensor is quantised: the numbers of scales and zero points, and the axis along which they change.

    ``values`` are scales and zero points as the file has them: what tells tensors of equal whole numbers apart.

    ``kind`` is ``affine``, ``blockwise`` (then ``block_size`` values share a scale, and ``scales`` and ``zero_points`` are the
    numbers of the tensors that hold them, -1 for none) or ``custom``.
    """

    kind: str
    scales: int = 0
    zero_points: int = 0
    axis: int = 0
    block_size: int = 0
    values: bytes = b""


class TfliteTensor(NamedTuple):
    """``shape`` is None where the file gives none, ``signature`` the shape with -1 for what may change, None without one.
    Without axes it is a scalar's if the tensor ``has_rank``; else the file may say nothing.

    Sizes of ``shape`` are -1 at least, which leaves one open.  ``data`` is (offset, bytes) of its values in the file, None where
    it has none; ``external_bytes`` is how many stand in another file, and then ``buffer`` is less than 0.  Tensors with one
    ``buffer`` share their values.  ``sparse_values`` is how many values a sparse tensor stores.
    """

    number: int
    name: str
    shape: Shape | None
    signature: Shape | None
    dtype: DType
    buffer: int
    is_variable: bool
    quantisation: Quantisation | None
    data: tuple[int, int] | None
    external_bytes: int = 0
    sparse_values: int | None = None
    has_rank: bool = False

    @property
    def is_stored(self) -> bool:
        """Whether its values are part of the model."""
        return self.data is not None or self.external_bytes > 0


class Operator(NamedTuple):
    """``op`` is the builtin's name in the schema (``CONV_2D``), ``CUSTOM`` or ``BUILTIN_<code>`` for one that is not known;
    ``custom`` what a custom operator is called.

    ``inputs`` are tensor indices, -1 for an optional one that is absent.  ``options`` has the fields of its options by the
    schema's names, defaults filled in; enumerations are numbers.  ``custom_options`` is (offset, bytes) in the file.
    """

    number: int
    op: str
    custom: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    intermediates: tuple[int, ...]
    options: Mapping[str, Any]
    custom_options: tuple[int, int] | None = None


class Subgraph(NamedTuple):
    name: str
    tensors: tuple[TfliteTensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Signature(NamedTuple):
    """What callers of a model know it by: a key, the subgraph behind it, and their own names for its inputs and outputs.

    ``inputs`` and ``outputs`` are tensors of the subgraph by name.
    """

    key: str
    subgraph: int
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


class TfliteModel(NamedTuple):
    """``metadata`` is (offset, bytes) in the file by name; ``behind`` are the buffers whose data stand behind the flatbuffer."""

    path: Path
    data: memoryview
    version: int
    description: str
    subgraphs: tuple[Subgraph, ...]
    metadata: Mapping[str, tuple[int, int]]
    signatures: tuple[Signature, ...]
    behind: frozenset[int] = frozenset()
