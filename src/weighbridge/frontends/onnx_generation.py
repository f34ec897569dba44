"""Generation of text in one ONNX node (com.microsoft BeamSearch, GreedySearch, Sampling): the networks that it runs, as bodies.

An encoder and a first decoder run once.  The decoder runs as often as the text gets longer, which its values decide: one
pass of it counts, the first: of a model without an encoder over the whole prompt, else of one word.  Whatever else these
operators do with the scores is not counted, as it has no MACs; a pass whose shapes the file leaves open says which products
it misses.

Source: ONNX Runtime, docs/ContribOperators.md, and the subgraphs that its tools write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from weighbridge.dtypes import DTYPES
from weighbridge.frontends.declared import Declared
from weighbridge.frontends.foreign import Foreign
from weighbridge.frontends.onnx_control import Shaped, build_body, finish, formals_of, graph_of, shaped
from weighbridge.frontends.onnx_scope import Record, Scope
from weighbridge.frontends.onnx_steps import number_in
from weighbridge.frontends.onnx_types import declared_type
from weighbridge.graph import LOOP, Shape, TensorType

if TYPE_CHECKING:
    from weighbridge.frontends.onnx_capture import Capture

__all__ = ["SPECIAL"]

_BEAMS, _RETURNED, _PROMPT_OF_DECODER = 3, 4, 10
"""Positions of operands of a beam search."""


class _Search:
    """One call while its networks are built: ``rows`` are the sequences that the decoder works on, all beams of all prompts."""

    def __init__(self, capture: Capture, scope: Scope, call: Foreign, record: Record) -> None:
        self.capture = capture
        self.scope = scope
        self.call = call
        self.record = record
        self.has_beams = call.op.endswith("BeamSearch")
        self.prompt = call.type(0)
        beams = number_in(call, _BEAMS) if self.has_beams else 1
        self.made_by_encoder: list[Shape | None] = []
        self.rows: int | None = None
        if self.prompt is not None and self.prompt.shape and isinstance(beams, int) and beams > 0:
            self.rows = self.prompt.shape[0] * beams

    def formals(self, name: str) -> list[tuple[str, Declared]]:
        """The inputs of a network by name, as the file declares them."""
        return [(one.name, declared_type(one.type, one.name)) for one in formals_of(graph_of(self.call, name))]

    def encoded(self) -> list[Shaped]:
        """Types of the inputs of the encoder: the prompt, a mask as long, and what the decoder starts with."""
        formals = self.formals("encoder")
        symbols: dict[str, int] = {}
        if self.prompt is not None and formals and formals[0][1].dimensions is not None:
            sizes = zip(formals[0][1].dimensions, self.prompt.shape, strict=False)
            symbols = {symbol: size for symbol, size in sizes if isinstance(symbol, str)}
        types = []
        for place, (name, declared) in enumerate(formals):
            found = declared.shape(symbols)
            if place == 0 and self.prompt is not None:
                found = self.prompt.shape
            elif name == "decoder_input_ids" and self.call.has(_PROMPT_OF_DECODER):
                found = shaped(self.scope, self.call.operand(_PROMPT_OF_DECODER)).shape
            types.append(Shaped(found, declared.dtype))
        return types

    def decoded(self, name: str, new: int, past: int) -> list[Shaped]:
        """Types of the inputs of a decoder that sees ``new`` words, and ``past`` ones in its caches; known without an encoder.

        Words and their positions, a mask over all of them, caches of keys and values in one.
        """
        types = []
        for place, (_, declared) in enumerate(self.formals(name)):
            rank = -1 if declared.dimensions is None else len(declared.dimensions)
            found: Shape | None = declared.shape({})
            if self.rows is not None and not self.call.get("encoder"):
                if rank == 2 and place < 3:
                    found = (self.rows, new + past if place == 2 else new)
                elif rank == 5 and declared.dimensions is not None:
                    found = _cache(declared.dimensions, self.rows, past)
            types.append(Shaped(found, declared.dtype))
        return types

    def resumed(self) -> list[Shaped]:
        """Types of the inputs of a decoder behind an encoder, in its first pass: one word, and what the encoder made for each beam.

        The word, a mask over the prompt, the encoder's second result, and as caches those behind it, in their order.
        """
        hidden, caches = self.made_by_encoder[1:2], self.made_by_encoder[2:]
        types = []
        for place, (_, declared) in enumerate(self.formals("decoder")):
            rank = -1 if declared.dimensions is None else len(declared.dimensions)
            found: Shape | None = None
            if place == 0 and rank == 2:
                found = (1, 1)
            elif rank == 2 and self.prompt is not None and len(self.prompt.shape) == 2:
                found = self.prompt.shape
            elif rank == 3 and hidden:
                found = hidden.pop(0)
            elif rank == 4 and caches:
                found = caches.pop(0)
            if found and self.rows is not None:
                found = (self.rows, *found[1:])
            is_known = found is not None and self.rows is not None and not declared.contradicts(found)
            types.append(Shaped(found if is_known else declared.shape({}), declared.dtype))
        return types

    def once(self, name: str, types: list[Shaped], operands: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Add a network that runs once; returns what it makes, as operands of the next."""
        built = build_body(self.capture, self.scope, self.call, name, types)
        captured = [("captures", tensor) for tensor in built.frame.captured]
        kinds = [(tensor.shape, tensor.dtype) for tensor in map(built.tensor, range(len(built.outputs)))]
        if name == "encoder":
            self.made_by_encoder = [shape for shape, _ in kinds]
        names = [self.capture.names.fresh(f"{self.call.name}.{name}:{index}") for index in range(len(kinds))]
        made = self.scope.frame.builder.opaque(
            LOOP,
            [*operands, *captured],
            [dtype if shape is None else TensorType(shape, dtype) for shape, dtype in kinds],
            name=self.capture.names.fresh(f"{self.call.name}.{name}"),
            outputs=names,
            bodies=[built.body(1)],
            scope=self.capture.module(self.scope, self.record),
            origin=self.call.qualified,
        )
        return [("carried", tensor) for tensor in made]

    def results(self) -> list[Shaped]:
        """The words of all sequences up to the longest there may be; then scores, in the type that the file states."""
        length, batch = number_in(self.call, 1), self.prompt.shape[:1] if self.prompt is not None else ()
        returned = number_in(self.call, _RETURNED) if self.has_beams else 1
        shape: Shape | None = None
        if batch and isinstance(length, int) and isinstance(returned, int) and min(length, returned) >= 0:
            shape = (*batch, *((returned,) if self.has_beams else ()), length)
        others = [Shaped(None, DTYPES["float32"])] * (len(self.record.outputs) - 1)
        return [Shaped(shape, DTYPES["int32"]), *others]


def _cache(dimensions: tuple[int | str | None, ...], rows: int, past: int) -> Shape | None:
    """Keys and values, sequences, heads, positions, depth."""
    two, _, heads, _, depth = dimensions
    if not (isinstance(two, int) and isinstance(heads, int) and isinstance(depth, int)):
        return None
    return two, rows, heads, past, depth


def _search(capture: Capture, scope: Scope, call: Foreign, record: Record) -> None:
    capture.reserve_outputs(scope, call, record)
    search = _Search(capture, scope, call, record)
    operands = [("carried", tensor) for tensor in call.inputs if tensor]
    length = search.prompt.shape[-1] if search.prompt is not None and search.prompt.shape else 0
    new, past = length, 0
    if call.get("encoder"):
        operands = search.once("encoder", search.encoded(), operands) or operands
    if call.get("init_decoder"):
        operands = search.once("init_decoder", search.decoded("init_decoder", length, 0), operands) or operands
        new, past = 1, length
    types = search.resumed() if call.get("encoder") else search.decoded("decoder", new, past)
    built = build_body(capture, scope, call, "decoder", types)
    finish(capture, scope, call, record, LOOP, operands, [built], search.results(), None)


SPECIAL: Final[dict[str, Any]] = dict.fromkeys(("BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"), _search)
"""By the operators' names."""
