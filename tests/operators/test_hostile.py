"""Every record against nonsense: whatever a file says, a rule answers or raises ``GraphError``, quickly and in whole numbers."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import TensorType
from weighbridge.operators.halo import Span, whole
from weighbridge.operators.record import REQUIRED, Call
from weighbridge.operators.table import OPERATORS

DIMENSIONS = st.sampled_from([0, 1, 1, 2, 2, 3, 4, 6, 8, 1 << 31, 1 << 48])
SHAPES = st.lists(DIMENSIONS, max_size=6).map(tuple)
TYPES = st.builds(
    TensorType,
    SHAPES,
    st.sampled_from(["float32", "int64", "int4", "bool", "string", "q4_0", "complex64"]).map(DTYPES.get),
)
NUMBERS = st.sampled_from([-(1 << 63), -3, -2, -1, 0, 1, 2, 3, 4, 8, (1 << 63) - 1, 1 << 200])
FLOATS = st.sampled_from([0.0, -0.0, 0.5, -1.5, 2.0, 1e-320, 1e308, float("nan"), float("inf"), float("-inf")])
WORDS = st.sampled_from(
    ["", "none", "all", "unknown", "equal", "float32", "int8", "linear", "cubic", "same_upper", "x", "\x00"]
)
SCALARS = NUMBERS | FLOATS | WORDS | st.booleans()
ATTRIBUTES = (
    SCALARS | st.lists(NUMBERS, max_size=6).map(tuple) | st.lists(SCALARS | st.tuples(SCALARS), max_size=4).map(tuple)
)

WITHOUT_RESULT = {"assign_variable", "hash_table_import"}


@st.composite
def calls(draw, op, shapes=TYPES):
    """A call with every operand of a random type, and attributes of which most are left as they are."""
    operands = {}
    for slot in op.slots:
        fewest = 0 if slot.optional or slot.variadic else 1
        operands[slot.name] = tuple(draw(st.lists(shapes, min_size=fewest, max_size=3 if slot.variadic else 1)))
    attributes = {}
    for name, default in op.attributes.items():
        changed = default == REQUIRED or draw(st.integers(0, 3)) == 0
        attributes[name] = draw(ATTRIBUTES) if changed else default
    return operands, attributes


def is_count(value) -> bool:
    return type(value) is int and value >= 0


def check(op, operands, attributes) -> bool:
    """Whether the rules answered; that they did so sanely is asserted."""
    try:
        results = op.infer(Call(operands, attributes))
    except GraphError:
        return False
    assert isinstance(results, tuple) and (results or op.name in WITHOUT_RESULT), op.name
    assert all(isinstance(result, TensorType | DType) for result in results), op.name
    types = [result for result in results if isinstance(result, TensorType)]
    assert all(is_count(size) for result in types for size in result.shape), (op.name, types)
    if len(types) < len(results):
        return True
    call = Call(operands, attributes, tuple(types))
    for rule in (op.work, op.traffic, op.loops or (lambda call: ())):
        try:
            answer = rule(call)
        except GraphError:
            continue
        numbers = [part for one in answer for part in one] if rule is op.loops else answer or ()
        assert all(value is None or isinstance(value, str) or is_count(value) for value in numbers), (
            op.name,
            rule,
            answer,
        )
    check_parts(op, call)
    return True


def check_parts(op, call) -> None:
    """A part of the result: the first place of each axis, and of one axis after the other with the others whole."""
    shape = call.outputs[0].shape if call.outputs else ()
    if op.halo_rule is None or 0 in shape or not call.outputs:
        return
    whole_ = whole(shape)
    for box in (
        whole_,
        tuple(Span(0, 1) for _ in shape),
        *((*whole_[:axis], Span(0, 1), *whole_[axis + 1 :]) for axis in range(len(shape))),
    ):
        try:
            made = op.grain(call, box)
            needs = op.halo_rule(call, made)
            if needs is None:
                continue
            assert all(len(one) == len(call.all(name)[place].shape) for (name, place), one in needs.items()), (
                op.name,
                needs,
            )
            there = {
                (name, place): tuple(map(Span.within, one, call.all(name)[place].shape))
                for (name, place), one in needs.items()
            }
            op.parted(call, made, needs, there)
        except GraphError:
            continue


@pytest.mark.parametrize("name", OPERATORS)
def test_rules_answer_or_raise_graph_error(name):
    op = OPERATORS[name]

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(calls(op))
    def attack(drawn):
        check(op, *drawn)

    attack()


@pytest.mark.parametrize("name", OPERATORS)
def test_one_shape_for_all_operands(name):
    """Operands of one small shape, defaults kept where there are some: the rules get further than their first check."""
    op = OPERATORS[name]
    one = st.shared(SHAPES, key=name)

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(calls(op, st.builds(TensorType, one, st.sampled_from([DTYPES["float32"], DTYPES["string"]]))))
    def attack(drawn):
        check(op, *drawn)

    attack()
