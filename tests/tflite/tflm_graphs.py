"""Whole models in which the arena depends on how graphs hang together, for the tests of its plan."""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping, Sequence

from tests.tflite.tflm_cases import f, i32, q, scalar
from tests.tflite.tflm_models import Graph, Op, Tensor, model

BOOL = Tensor([], "BOOL")


def _add(first: int, second: int, output: int) -> Op:
    return Op("ADD", [first, second], [output], ("AddOptions", {}))


def _abs(first: int, output: int) -> Op:
    return Op("ABS", [first], [output])


def _if(inputs: Sequence[int], outputs: Sequence[int], then: int, otherwise: int) -> Op:
    return Op("IF", inputs, outputs, ("IfOptions", {"thenSubgraphIndex": then, "elseSubgraphIndex": otherwise}))


def _while(inputs: Sequence[int], outputs: Sequence[int], condition: int, body: int) -> Op:
    options = {"condSubgraphIndex": condition, "bodySubgraphIndex": body}
    return Op("WHILE", inputs, outputs, ("WhileOptions", options))


def _mean(tensors: Sequence[int]) -> Op:
    return Op("MEAN", tensors[:2], tensors[2:], ("ReducerOptions", {"keepDims": True}))


def _less() -> Graph:
    """A condition: whether the sum of its input is less than a stored number, with scratch on the way."""
    tensors = [
        f(1, 6),
        i32(1),
        f(1, 1),
        Tensor([1, 1], data=struct.pack("<f", 9.0)),
        Tensor([1, 1], "BOOL"),
        Tensor([1], "INT32", data=struct.pack("<i", 1)),
        Tensor([1], "BOOL"),
    ]
    operators = [_mean([0, 1, 2]), Op("LESS", [2, 3], [4]), Op("RESHAPE", [4, 5], [6], ("ReshapeOptions", {}))]
    return Graph(tensors, operators, [0], [6])


def _body(width: int) -> Graph:
    """A body with a large value in the middle."""
    tensors = [f(1, 6), f(width, 6), i32(0), f(1, 6)]
    return Graph(tensors, [Op("BROADCAST_TO", [0, 4], [1]), _mean([1, 2, 3])], [0], [3])._replace(
        tensors=[*tensors, i32(width, 6)]
    )


def _branches() -> dict[str, bytes]:
    """Control flow."""
    main = Graph([f(1, 6), BOOL, f(1, 6), f(1, 6)], [_abs(0, 2), _if([1, 2], [3], 1, 2)], [0, 1], [3])
    loop = Graph([f(1, 6), f(1, 6), f(1, 6)], [_abs(0, 1), _while([1], [2], 1, 2)], [0], [2])
    held = Graph(
        [f(1, 6), f(40, 6), f(1, 6), f(40, 6)],
        [Op("BROADCAST_TO", [0, 4], [1]), _while([0], [2], 1, 2), Op("ADD", [1, 2], [3], ("AddOptions", {}))],
        [0],
        [3],
    )._replace(tensors=[f(1, 6), f(40, 6), f(1, 6), f(40, 6), i32(40, 6)])
    nested = Graph([f(1, 6), BOOL, f(1, 6)], [_if([1, 0], [2], 1, 2)], [0, 1], [2])
    inner = Graph([f(1, 6), f(1, 6)], [_while([0], [1], 3, 4)], [0], [1])
    twice = Graph([f(1, 6), BOOL, f(1, 6), f(1, 6)], [_if([1, 0], [2], 1, 1), _if([1, 2], [3], 1, 1)], [0, 1], [3])
    straight = Graph([f(1, 6)], [], [0], [0])
    pair = Graph([f(1, 6), f(1, 6), f(1, 6)], [_add(0, 1, 2)], [0, 1], [2])
    double = Graph([f(1, 6), f(1, 6)], [_abs(0, 1)], [0], [1, 1])
    return {
        "if with a branch of two inputs": model(main, pair, _body(20)),
        "if with another branch of two inputs": model(main, _body(9), pair),
        "if with a branch of two outputs": model(main, double, _body(20)),
        "if with another branch of two outputs": model(main, _body(9), double),
        "if without another branch": model(main, _body(9)),
        "while with a condition of two inputs": model(loop, pair, _body(30)),
        "while with a condition of two outputs": model(loop, double, _body(30)),
        "while with a body of two inputs": model(loop, _less(), pair),
        "while with a body of two outputs": model(loop, _less(), double),
        "if": model(main, _body(9), _body(20)),
        "if with a branch that does nothing": model(main, _body(9), straight),
        "while": model(loop, _less(), _body(30)),
        "while beside a large value": model(held, _less(), _body(30)),
        "a loop in a branch": model(nested, inner, _body(3), _less(), _body(50)),
        "one branch called four times": model(twice, _body(17)),
        "a graph that nobody calls": model(Graph([f(1, 6), f(1, 6)], [_abs(0, 1)], [0], [1]), _body(11)),
        "two graphs that nobody calls": model(Graph([f(1, 6), f(1, 6)], [_abs(0, 1)], [0], [1]), _body(11), _less()),
    }


def _handle(output: int, name: str) -> Op:
    return Op("VAR_HANDLE", [], [output], ("VarHandleOptions", {"container": b"", "sharedName": name.encode()}))


def _resources() -> dict[str, bytes]:
    resource = Tensor([1], "RESOURCE")
    start = Graph(
        [resource, Tensor([1, 6], data=bytes(24)), resource, Tensor([3, 6], data=bytes(72))],
        [_handle(0, "a"), Op("ASSIGN_VARIABLE", [0, 1], []), _handle(2, "b"), Op("ASSIGN_VARIABLE", [2, 3], [])],
        [],
        [],
    )
    step = Graph(
        [f(1, 6), resource, f(1, 6), f(1, 6), resource],
        [
            Op("CALL_ONCE", [], [], ("CallOnceOptions", {"initSubgraphIndex": 1})),
            _handle(1, "a"),
            Op("READ_VARIABLE", [1], [2]),
            _add(0, 2, 3),
            Op("ASSIGN_VARIABLE", [1, 3], []),
        ],
        [0],
        [3],
    )
    alone = Graph(
        [f(1, 6), resource, f(1, 6)],
        [_handle(1, "a"), Op("ASSIGN_VARIABLE", [1, 0], []), Op("READ_VARIABLE", [1], [2])],
        [0],
        [2],
    )
    return {"variables filled once": model(step, start), "a variable": model(alone)}


def _odd() -> dict[str, bytes]:
    """Tensors that nobody makes, reads or sizes."""
    line = [f(4, 9), f(4, 9), f(4, 9), f(4, 9)]
    chain = [_abs(0, 1), _abs(1, 2), _abs(2, 3)]
    return {
        "chain": model(Graph(line, chain, [0], [3])),
        "unused tensors": model(Graph([*line, f(50), f(70), q([3])], chain, [0], [3])),
        "an unused input": model(Graph([*line, f(50)], chain, [0, 4], [3])),
        "an input that is an output": model(Graph(line, chain, [0], [3, 0])),
        "a stored output": model(Graph([*line, Tensor([9], data=bytes(36))], chain, [0], [3, 4])),
        "an output in the middle": model(Graph(line, chain, [0], [3, 1])),
        "an output that nobody makes": model(Graph([*line, f(80)], chain, [0], [3, 4])),
        "a value that nobody makes": model(Graph([*line, f(4, 9)], [*chain, _add(3, 4, 2)], [0], [2])),
        "a value read before it is made": model(Graph([*line, f(4, 9)], [_add(0, 3, 4), *chain], [0], [3])),
        "a value made twice": model(Graph(line, [_abs(0, 1), _abs(1, 2), _abs(2, 1), _abs(1, 3)], [0], [3])),
        "a value written where it is read": model(Graph(line, [_abs(0, 1), _abs(1, 1), _abs(1, 3)], [0], [3])),
        "a tensor without values": model(Graph([*line, f(0, 9), f(0)], chain, [0], [3])),
        "numbers without dimensions": model(Graph([f(), f(), f()], [_abs(0, 1), _abs(1, 2)], [0], [2])),
        "a variable": model(Graph([*line, Tensor([4, 9], variable=True)], [*chain, _add(3, 4, 2)], [0], [2])),
        "no bias": model(
            Graph(
                [f(2, 9), Tensor([7, 9], data=bytes(252)), f(2, 7)],
                [Op("FULLY_CONNECTED", [0, 1, -1], [2], ("FullyConnectedOptions", {}))],
                [0],
                [2],
            )
        ),
        "outputs that nobody reads": model(
            Graph(
                [scalar(1), f(2, 6), f(2, 2), f(2, 2), f(2, 2), f(2, 2)],
                [Op("SPLIT", [0, 1], [2, 3, 4], ("SplitOptions", {"numSplits": 3})), _abs(3, 5)],
                [1],
                [5],
            )
        ),
        "many inputs": model(Graph([f(3, 9)] * 7, [Op("ADD_N", [0, 1, 2, 3, 4, 5], [6])], range(6), [6])),
        "nothing": model(Graph([f(3, 9)], [], [0], [0])),
    }


def plan(*offsets: int, tensors: int | None = None) -> Mapping[str, bytes]:
    """The metadata of a memory plan."""
    count = len(offsets) if tensors is None else tensors
    return {"OfflineMemoryAllocation": struct.pack(f"<3i{len(offsets)}i", 1, 0, count, *offsets)}


def _planned() -> dict[str, bytes]:
    """Models with a memory plan of their own."""
    line = Graph([f(4, 9), f(4, 9), f(4, 9), f(4, 9)], [_abs(0, 1), _abs(1, 2), _abs(2, 3)], [0], [3])
    held = Graph([*line.tensors, Tensor([4, 9], variable=True)], [*line.operators, _add(3, 4, 2)], [0], [2])
    loop = Graph([f(1, 6), f(1, 6), f(1, 6)], [_abs(0, 1), _while([1], [2], 1, 2)], [0], [2])
    tensors = 3 + len(_less().tensors) + len(_body(30).tensors)
    return {
        "all planned": model(line, metadata=plan(0, 144, 288, 0)),
        "all planned, and apart": model(line, metadata=plan(0, 1440, 2880, 4800)),
        "half planned": model(line, metadata=plan(-1, 160, -1, 320)),
        "planned one over another": model(line, metadata=plan(0, 0, 0, 0)),
        "nothing planned": model(line, metadata=plan(-1, -1, -1, -1)),
        "a variable planned": model(held, metadata=plan(-1, 160, -1, 320, 640)),
        "a variable not planned": model(held, metadata=plan(-1, 160, -1, 320, -1)),
        "planned across graphs": model(
            loop, _less(), _body(30), metadata=plan(*[-1] * 3, *[64 * place for place in range(tensors - 3)])
        ),
        "planned for another model": model(line, metadata=plan(0, 144, 288)),
        "planned by another name": model(line, metadata={"OfflineMemoryAllocations": b"12345678"}),
    }


def mesh(seed: int) -> bytes:
    """A random graph of additions, means and joins, some of its tensors outputs, some never read."""
    chance = random.Random(seed)
    tensors: list[Tensor] = [f(1, chance.randint(1, 9), 8)]
    operators: list[Op] = []
    values, inputs = [0], [0]

    def new(tensor: Tensor) -> int:
        tensors.append(tensor)
        return len(tensors) - 1

    for _ in range(chance.randint(4, 30)):
        first = chance.choice(values)
        kind, rows = chance.randrange(4), tensors[first].shape[1]
        if kind == 0:
            axis = new(Tensor([1], "INT32", data=struct.pack("<i", 1)))
            output = new(f(1, 1, 8))
            operators.append(_mean([first, axis, output]))
        elif kind == 1:
            second = chance.choice(values)
            output = new(f(1, rows + tensors[second].shape[1], 8))
            operators.append(Op("CONCATENATION", [first, second], [output], ("ConcatenationOptions", {"axis": 1})))
        elif kind == 2:
            output = new(f(1, rows, 8))
            operators.append(_add(first, first, output))
        else:
            output = new(f(1, chance.randint(1, 9), 8))
            inputs.append(output)
        values.append(output)
    outputs = sorted({values[-1], *chance.sample(values, min(2, len(values)))})
    return model(Graph(tensors, operators, inputs, outputs))


GRAPHS: Mapping[str, bytes] = {
    **_branches(),
    **_odd(),
    **{f"{name} (resource)": made for name, made in _resources().items()},
    **_planned(),
    **{f"mesh {seed}": mesh(seed) for seed in range(40)},
}
"""The models by what is odd about them."""
