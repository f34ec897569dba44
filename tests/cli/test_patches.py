"""``weighbridge patches`` in this process: output, files, exit codes, messages."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.test_weigh import one_line
from tests.onnx import build
from weighbridge.cli.main import main

PAPER = ["patches", "mobilenet_v2", "--precision", "int8", "--last", "block4.project", "--grid", "4x4"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


def test_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PAPER, "--policy", "pair_in_place", "--input-elsewhere", "--on", "stm32f746"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    for part in ("175,616 B", "27,919,344 MACs are done again", "in patches it fits", "129,517,568", "1x3x75x75"):
        assert part in captured.out


def test_files_of_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    suffixes = ("json", "csv", "md", "txt", "html")
    assert main([*PAPER, *(part for one in suffixes for part in ("-o", f"page.{one}"))]) == 0
    assert json.loads(Path("page.json").read_text())["plan"]["clipped_macs"] == 119_202_032
    rows = list(csv.DictReader(Path("page.csv").read_text().splitlines()))
    assert len(rows) == 16
    assert sum(int(row["macs"]) for row in rows) == 119_202_032
    for one in ("md", "txt", "html"):
        assert "119,202,032" in Path(f"page.{one}").read_text()


def test_the_json_is_that_of_the_python_interface(capsys: pytest.CaptureFixture[str]) -> None:
    from weighbridge import in_patches

    assert main([*PAPER, "--json", "-"]) == 0
    found = in_patches("mobilenet_v2", precision="int8", last="block4.project", grid="4x4")
    assert capsys.readouterr().out == found.to_json()


@pytest.mark.parametrize(("size", "code"), [("1KiB", 0), ("64KiB", 1)])
def test_require_fit(size: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*PAPER, "--policy", "pair_in_place", "--on", "stm32f746", "--reserve", f"sram={size}", "--require-fit"]
    assert main(arguments) == code
    assert capsys.readouterr().err == ("weighbridge: does not fit stm32f746 in patches\n" if code else "")


def test_room_row_by_row_is_not_room_in_patches(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*PAPER, "--policy", "pair_in_place", "--on", "stm32f746", "--reserve", "sram=16KiB"]
    assert main([*arguments, "--require-fit"]) == 1
    captured = capsys.readouterr()
    assert "in patches it does not fit" in captured.out
    assert "row by row it fits" in captured.out
    assert captured.err == "weighbridge: does not fit stm32f746 in patches\n"


def test_require_fit_by_a_device_that_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PAPER, "--on", "ethos-u55-128", "--require-fit"]) == 1
    assert capsys.readouterr().err == "weighbridge: cannot be told to fit ethos-u55-128 in patches\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--last", "block3.expand"], "there is no node 'block3.expand'; did you mean block3.expand.conv?"),
        (["--last", "block3.expand.conv"], "lies inside a branch: block3.add reads block2.project_bn too"),
        (["--last", "block4.project", "--grid", "64x64"], "64 x 64 patches of a map of 28 x 28"),
        (["--grid", "400x2"], "400 x 2 patches, and the largest map that a layer makes has 112 x 112"),
        (["--grid", "4by4"], "'4by4' is no grid; write 4x4"),
        (["--policy", "arena_tflm"], "there is no peak under arena_tflm"),
        (["--policy", "nothing"], "there is no memory policy 'nothing'"),
        (["--require-fit"], "--require-fit without a device"),
        (["--on", "nothing"], "there is no device 'nothing'"),
    ],
)
def test_bad_input_is_one_line_and_2(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["patches", "mobilenet_v2", *arguments]) == 2
    assert said in one_line(capsys)


def written(name: str, nodes: list[object], **weights: tuple[int, ...]) -> str:
    """A file of ONNX with an image x of 3 x 8 x 8 and a result y of 4 x 8 x 8."""
    given, made = build.value("x", [1, 3, 8, 8]), build.value("y", [1, 4, 8, 8])
    stored = [build.weight(one, *shape) for one, shape in weights.items()]
    Path(name).write_bytes(build.model(build.graph(nodes, [given], [made], stored)).SerializeToString())
    return name


def test_a_graph_with_a_cycle(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [
        build.node("Add", ["x", "b"], ["a"], name="first"),
        build.node("Relu", ["a"], ["b"], name="second"),
        build.node("Conv", ["b", "w"], ["y"], name="conv"),
    ]
    assert main(["patches", written("cycle.onnx", nodes, w=(4, 3, 1, 1))]) == 2
    assert "first: waits for its own result: the graph has a cycle" in one_line(capsys)


@pytest.mark.parametrize(
    ("operator", "attributes", "said"),
    [
        (
            "Einsum",
            {"equation": "bcij->bcji"},
            "there is no rule for what middle (einsum) needs for a part of its result",
        ),
        ("Softmax", {"axis": 2}, "middle (softmax) needs all of its input for a part of its result"),
    ],
)
def test_an_operator_that_ends_a_stage_is_named(
    operator: str, attributes: dict[str, object], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [
        build.node("Conv", ["x", "w"], ["a"], name="conv"),
        build.node(operator, ["a"], ["b"], name="middle", **attributes),
        build.node("Conv", ["b", "v"], ["c"], name="behind"),
        build.node("Relu", ["c"], ["d"], name="function"),
        build.node("Conv", ["d", "v"], ["y"], name="end"),
    ]
    path = written("stopped.onnx", nodes, w=(4, 3, 1, 1), v=(4, 4, 1, 1))
    assert main(["patches", path, "--last", "behind", "--grid", "2x2"]) == 2
    assert f"{said}; end the stage before it" in one_line(capsys)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            ["--last", "end", "--grid", "2x2"],
            "the shape of what middle (unknown) makes is unknown; end the stage before it",
        ),
        ([], "no patches can be told: the shape of what middle (unknown) makes is unknown; where the source"),
    ],
)
def test_an_operator_that_nobody_knows_is_named(
    asked: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [
        build.node("Conv", ["x", "w"], ["a"], name="conv"),
        build.node("Shuffle", ["a"], ["b"], name="middle", domain="example.custom"),
        build.node("Conv", ["b", "v"], ["y"], name="end"),
    ]
    path = written("custom.onnx", nodes, w=(4, 3, 1, 1), v=(4, 4, 1, 1))
    assert main(["patches", path, *asked]) == 2
    assert said in one_line(capsys)
    assert main(["order", path]) == 2
    assert "no order can be told: the shape of what middle (unknown) makes is unknown; " in one_line(capsys)


def test_a_grid_that_cuts_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [
        build.node("Conv", ["x", "w"], ["a"], name="conv", strides=[2, 2]),
        build.node("DepthToSpace", ["a"], ["b"], name="blocks", blocksize=2),
        build.node("Conv", ["b", "v"], ["y"], name="end"),
    ]
    path = written("blocks.onnx", nodes, w=(16, 3, 1, 1), v=(4, 4, 1, 1))
    assert main(["patches", path, "--last", "blocks", "--grid", "2x2"]) == 0
    assert main(["patches", path, "--last", "blocks", "--grid", "3x3"]) == 2
    assert (
        "blocks (depth_to_space) makes its result in blocks, which this grid cuts; choose a grid"
        in capsys.readouterr().err
    )


def test_a_network_without_images(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["patches", "mlp"]) == 0
    assert "no layer makes a map with rows and columns that windows go over" in " ".join(
        capsys.readouterr().out.split()
    )
    assert main(["patches", "mlp", "--last", "fc1"]) == 2
    assert "what fc1 makes has no rows and columns that windows go over" in one_line(capsys)
