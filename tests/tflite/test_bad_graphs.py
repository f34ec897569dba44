"""Graphs that are hostile: subgraphs in circles, parts that are shared, names of every kind, and sizes without end."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from tests.steps import steps
from tests.tflite.build import graph, load, model, op, tensor
from tests.tflite.damage import renamed, sharing
from weighbridge import weigh
from weighbridge.cli.main import main
from weighbridge.errors import BadModel
from weighbridge.frontends import flatbuffer, tflite_expansion
from weighbridge.frontends.tflite_read import read_model

# Subgraphs


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("WHILE", {"cond_subgraph_index": 1, "body_subgraph_index": 0}),
        ("IF", {"then_subgraph_index": 0, "else_subgraph_index": 0}),
        ("CALL", {"subgraph": 0}),
    ],
)
def test_a_subgraph_that_calls_itself_is_refused(name: str, options: dict[str, int]) -> None:
    tensors = [tensor("x", (1,), "BOOL"), tensor("y", (1,), "BOOL")]
    inputs = "x x" if name == "IF" else "x"
    whole = graph(tensors, [op(name, inputs, "y", options)], "x", "y")
    condition = graph([tensor("c", (1,), "BOOL")], [], "c", "c")
    with pytest.raises(BadModel, match=r"y: subgraph 0 calls itself; the file is damaged or hostile"):
        load(model(whole, condition))


def test_two_subgraphs_that_call_each_other_are_refused() -> None:
    tensors = [tensor("x", (1,)), tensor("y", (1,))]
    graphs = [graph(tensors, [op("CALL", "x", "y", {"subgraph": 1 - number})], "x", "y") for number in (0, 1)]
    with pytest.raises(BadModel, match="calls itself"):
        load(model(*graphs))


@pytest.mark.parametrize("option", [2**31 - 1, -1, 7])
def test_a_subgraph_that_is_not_there_is_refused(option: int) -> None:
    tensors = [tensor("x", (1,), "BOOL"), tensor("y", (1,), "BOOL")]
    options = {"then_subgraph_index": option, "else_subgraph_index": 0}
    with pytest.raises(BadModel, match=f"there is no subgraph {option} "):
        load(model(graph(tensors, [op("IF", "x x", "y", options)], "x", "y")))


def tower(levels: int, calls: int) -> bytes:
    """Subgraphs that each call the next one several times: what they expand to grows as a power of the levels."""
    tensors = [tensor(f"t{number}", (1,)) for number in range(calls + 1)]
    graphs = []
    for level in range(levels):
        made = [op("CALL", f"t{number}", f"t{number + 1}", {"subgraph": level + 1}) for number in range(calls)]
        graphs.append(graph(tensors, made, "t0", f"t{calls}"))
    return model(*graphs, graph(tensors[:2], [op("RELU", "t0", "t1")], "t0", "t1"))


def test_subgraphs_that_double_at_every_level_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(load(tower(6, 2)).nodes) == 64
    monkeypatch.setattr(tflite_expansion, "MAX_EXPANDED", 5000)
    with pytest.raises(BadModel, match="its subgraphs expand to 5,000 nodes more than they have"):
        load(tower(40, 2))


def test_subgraphs_deep_inside_each_other_are_read_and_deeper_ones_refused() -> None:
    assert len(load(tower(90, 1)).nodes) == 1
    for levels in (200, 3000):
        with pytest.raises(BadModel, match="subgraphs are nested more than 100 deep"):
            load(tower(levels, 1))


# Parts that are shared, and sizes


@pytest.mark.parametrize("part", ["subgraph", "operator", "tensor"])
def test_a_small_file_that_describes_a_huge_tree_is_refused(part: str) -> None:
    """Each part is named 3,000 times, and has a list of 3,000 numbers or a long name."""
    names = [f"t{number}" for number in range(3000)]
    tensors = [tensor(f"t{number}" + "x" * 20_000 * (number == 0), (1,) * 60) for number in range(2)]
    tensors = [tensor(name, (1,)) for name in names] if part == "operator" else tensors
    first = tensors[0].name
    made = [op("ADD_N", [one.name for one in tensors] * (1 if part == "operator" else 1000), "y", {})]
    whole = graph([*tensors, tensor("y", (1,))], made, [first], "y")
    data = sharing(whole, 3000, part)
    assert len(data) < 400_000
    tracemalloc.start()
    with pytest.raises(
        BadModel, match=r"its structure takes more than .* bytes, as if parts referred to the same ones"
    ):
        load(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * len(data)


def test_names_may_be_missing_equal_long_or_hostile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["", "same", "\x1b[31mred\n\r\0\u202e", "a" * 100_000, "[bold]", "<script>", "same", ""]
    tensors = [tensor(f"{number}", (1, 2)) for number in range(len(names))]
    made = [op("RELU", f"{number}", f"{number + 1}") for number in range(len(names) - 1)]
    data = renamed(graph(tensors, made, "0", f"{len(names) - 1}"), lambda name: names[int(name)])
    found = load(data)
    assert len({one.name for one in found.nodes}) == len(names) - 1
    assert all(len(one) < 300 for one in found.tensors)
    path = tmp_path / "model.tflite"
    path.write_bytes(data)
    for form in ("json", "csv", "md"):
        assert main(["weigh", str(path), "-o", str(tmp_path / f"out.{form}")]) == 0
    assert main(["weigh", str(path)]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\u202e" not in said


def chain(count: int) -> bytes:
    """Layers of 8-bit numbers, each added to what it reads."""
    tensors, made = [tensor("t0", (1, 4, 4, 4), "INT8", scales=1)], []
    for number in range(count):
        before, after, w, y = f"t{number}", f"t{number + 1}", f"w{number}", f"y{number}"
        tensors.append(tensor(w, (4, 1, 1, 4), "INT8", data=bytes([number % 251] * 16), scales=1))
        tensors += [tensor(name, (1, 4, 4, 4), "INT8", scales=1) for name in (y, after)]
        made.append(op("CONV_2D", f"{before} {w} -", y, {"stride_w": 1, "stride_h": 1, "fused_activation_function": 1}))
        made.append(op("ADD", f"{y} {before}", after, {}))
    return model(graph(tensors, made, "t0", f"t{count}"))


def test_twice_the_operators_take_twice_the_work(tmp_path: Path) -> None:
    counts = []
    for count in (500, 1000):
        path = tmp_path / f"{count}.tflite"
        path.write_bytes(chain(count))
        counts.append(steps(lambda path=path: weigh(path)))
    assert counts[1] < 2.2 * counts[0]


def test_many_inputs_of_one_name_take_linear_work() -> None:
    counts = []
    for count in (300, 600):
        names = [f"{number}" for number in range(count)]
        tensors = [tensor(one, (2,)) for one in names] + [tensor("y", (2,))]
        data = renamed(
            graph(tensors, [op("ADD_N", names, "y")], names, "y"), lambda name: "y" if name == "y" else "same"
        )
        counts.append(steps(lambda data=data: load(data)))
        assert len(set(load(data).inputs)) == count
    assert counts[1] < 2.2 * counts[0]


def test_what_is_read_takes_memory_by_the_structure_and_not_by_the_weights(tmp_path: Path) -> None:
    size = 1 << 24
    tensors = [
        tensor("x", (1, 4096), "INT8"),
        tensor("w", (4096, 4096), "INT8", data=bytes(size)),
        tensor("y", (1, 4096), "INT8"),
    ]
    path = tmp_path / "model.tflite"
    path.write_bytes(model(graph(tensors, [op("FULLY_CONNECTED", "x w -", "y", {})], "x", "y")))
    read_model(path)
    tracemalloc.start()
    read_model(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


def test_limits_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(chain(200))
    monkeypatch.setattr(flatbuffer, "_MAX_TABLES", 100)
    with pytest.raises(BadModel, match="it has more than 100 parts; no known network needs that"):
        read_model(path)
    monkeypatch.undo()
    monkeypatch.setattr(flatbuffer, "_LARGEST", 1000)
    with pytest.raises(BadModel, match="its structure takes more than 1,000 bytes"):
        read_model(path)
