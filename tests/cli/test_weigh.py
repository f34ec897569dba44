"""``weighbridge weigh`` in this process: output, files, exit codes, messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weighbridge import Report
from weighbridge.cli.main import main


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on standard error, with nothing on standard output."""
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("weighbridge: error: ")
    return captured.err.removeprefix("weighbridge: error: ").strip()


def test_a_textbook_network(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", "alexnet"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    for part in ("60,965,224", "724,406,816", "1,763,712 ", "◀ peak", "fc6"):
        assert part in captured.out


def test_json_stands_alone_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", "alexnet", "--on", "stm32f746", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["facts"]["macs"] == 724_406_816
    assert Report.from_json(captured.out).on[0].fit.verdict == "does not fit"
    assert captured.err == ""


@pytest.mark.parametrize("behind", [["-"], [], ["--strict"]])
@pytest.mark.parametrize(
    ("option", "start"), [("--json", '{\n "schema": 1'), ("--csv", "name,scope"), ("--markdown", "# alexnet")]
)
def test_formats_on_standard_output(
    option: str, start: str, behind: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """With a dash, or with nothing behind the option."""
    assert main(["weigh", "alexnet", option, *behind]) == 0
    assert capsys.readouterr().out.startswith(start)


def test_files_by_suffix_and_the_page_on_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["a.json", "b.csv", "c.md", "d.txt"]
    assert main(["weigh", "alexnet", *(part for file in files for part in ("-o", file)), "--json", "e"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("alexnet\n")
    assert (tmp_path / "a.json").read_text() == (tmp_path / "e").read_text()
    assert (tmp_path / "b.csv").read_text().startswith("name,")
    assert (tmp_path / "c.md").read_text(encoding="utf-8").startswith("# alexnet")
    assert (tmp_path / "d.txt").read_text(encoding="utf-8") == page


def test_csv_keeps_its_line_ends(tmp_path: Path) -> None:
    assert main(["weigh", "lenet5", "--csv", "out.csv"]) == 0
    content = (tmp_path / "out.csv").read_bytes()
    assert content.count(b"\r\n") == content.count(b"\n") > 5


@pytest.mark.parametrize("arguments", [("--depth", "1"), ("--all",)])
def test_depth(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", "resnet18", *arguments]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert any(row.startswith("layer1 ") for row in rows)
    assert any(row.startswith("    conv1 ") for row in rows) == (arguments == ("--all",))


def test_sizes_and_widths(capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--weight-bits",
        "first=8",
        "--weight-bits",
        "last=8",
        "--weight-bits",
        "rest=4",
        "--activation-bits",
        "8",
    ]
    assert main(["weigh", "alexnet", *options, "--json", "-"]) == 0
    facts = json.loads(capsys.readouterr().out)["facts"]
    assert facts["weight_bytes"] == 32_542_752
    assert facts["activations"]["total_bytes"] == 932_264


def test_batch_reaches_a_textbook_network(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", "alexnet", "--batch", "2", "--on", "toy", "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["facts"]["macs"] == 2 * 724_406_816
    assert data["on"][0]["conditions"]["batch"] == 2


def test_precision_sets_widths_and_the_rate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", "alexnet", "--precision", "int8", "--on", "toy", "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["facts"]["weight_bytes"] == 60_954_656
    assert data["on"][0]["conditions"]["precision"] == "int8"
    assert data["network"]["inputs"][0]["dtype"] == "int8"


def test_as_written_keeps_every_node(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", "resnet18", "--json", "-"]) == 0
    deployed = json.loads(capsys.readouterr().out)
    assert main(["weigh", "resnet18", "--as-written", "--json", "-"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert len(written["nodes"]) > len(deployed["nodes"])
    assert (written["network"]["graph"], deployed["network"]["graph"]) == ("as written", "deployed")
    assert written["facts"]["parameters"] == deployed["facts"]["parameters"]


# Exit codes


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("weigh", "lenet5", "--on", "toy", "--require-fit", "--strict"), 0),
        (("weigh", "alexnet", "--on", "stm32f746"), 0),
        (("weigh", "alexnet", "--on", "stm32f746", "--require-fit"), 1),
        (("weigh", "lenet5", "--on", "toy", "--on", "stm32f746", "--require-fit"), 0),
        (("devices",), 0),
        ((), 0),
        (("--help",), 0),
        (("--version",), 0),
        (("weigh", "--help"), 0),
    ],
    ids=str,
)
def test_exit_codes(arguments: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(list(arguments)) == code
    captured = capsys.readouterr()
    assert captured.out
    assert captured.err == ("" if code == 0 else "weighbridge: does not fit stm32f746\n")


@pytest.fixture
def foreign(tmp_path: Path) -> str:
    """A model with an operator that nobody knows."""
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node("Relu", ["x"], ["h"]),
        helper.make_node("Foo", ["h"], ["y"], domain="my", name="odd"),
    ]
    ends = [helper.make_tensor_value_info(name, kind, [1, 8]) for name in ("x", "y")]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    model = helper.make_model(helper.make_graph(nodes, "foreign", ends[:1], ends[1:]), opset_imports=opsets)
    onnx.save(model, tmp_path / "foreign.onnx")
    return "foreign.onnx"


def test_strict_refuses_what_is_not_exact(foreign: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", foreign]) == 0
    captured = capsys.readouterr()
    assert ">= 0" in captured.out
    assert captured.err == ""
    assert main(["weigh", foreign, "--strict"]) == 3
    captured = capsys.readouterr()
    assert captured.out
    assert captured.err.startswith("weighbridge: not exact: 1 node not counted: ")
    assert "Foo x1" in captured.err


def test_require_fit_refuses_what_cannot_be_told(foreign: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", foreign, "--on", "toy", "--require-fit"]) == 1
    assert "cannot be told" in capsys.readouterr().err
    assert main(["weigh", foreign, "--on", "toy", "--require-fit", "--strict"]) == 3


def test_json_of_what_is_not_exact_comes_with_a_warning(foreign: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", foreign, "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["facts"]["exact"] is False
    assert captured.err.startswith("weighbridge: warning: not exact: 1 node not counted: ")


# Bad input: one line, exit code 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("weigh",), ("SOURCE", "weighbridge weigh --help")),
        (("wiegh",), ("wiegh", "weigh")),
        (("weigh", "alexnet", "--nothing"), ("--nothing",)),
        (("weigh", "alexnet", "--batch", "0"), ("--batch", "0")),
        (("weigh", "alexnet", "--batch", "two"), ("--batch", "two")),
        (("weigh", "alexnet", "--depth", "0"), ("--depth",)),
        (("weigh", "alexnte"), ("neither a file nor a textbook network", "did you mean alexnet")),
        (("weigh", "torchvison:resnet50"), ("no library 'torchvison'", "did you mean torchvision:resnet50?")),
        (
            ("weigh", "alexnet", "--bacth", "2"),
            (
                "'--batch'",
                "'--batches'",
                "`weighbridge weigh --help` shows",
            ),
        ),
        (("weigh", "model.onnx"), ("model.onnx", "there is no such file")),
        (("weigh", "nowhere/model.onnx"), ("there is no such file", "there is no folder 'nowhere'")),
        (("weigh", "\0.onnx"), ("there is no such file",)),
        (("weigh", "."), ("folder",)),
        (("weigh", "alexnet", "--on", "stm32f764"), ("stm32f764", "did you mean stm32f746")),
        (("weigh", "alexnet", "--on", "toy", "--on", "nothing"), ("nothing",)),
        (("weigh", "alexnet", "--on", "./mine.toml"), ("mine.toml",)),
        (("weigh", "alexnet", "--require-fit"), ("--require-fit without a device", "--on")),
        (("weigh", "alexnet", "--precision", "int7"), ("int7", "int8")),
        (("weigh", "alexnet", "--weight-bits", "x=8"), ("'x'",)),
        (("weigh", "alexnet", "--weight-bits", "first=99"), ("first=99",)),
        (("weigh", "alexnet", "--dim", "n"), ("--dim", "NAME=N")),
        (("weigh", "alexnet", "--dim", "n=-1"), ("--dim", "NAME=N")),
        (("weigh", "alexnet", "--dim", "nothing=2"), ("nothing",)),
        (("weigh", "alexnet", "--sequence", "2"), ("sequence",)),
        (("weigh", "alexnet", "--input", "x"), ("--input", "NAME=1x3x224x224")),
        (("weigh", "alexnet", "--input", "x=1xx2"), ("--input",)),
        (("weigh", "alexnet", "--input", "image=1x3x9x9"), ("own parameters",)),
        (("weigh", "alexnet", "-o", "page.pdf"), ("page.pdf", ".json, .csv")),
        (("weigh", "alexnet", "-o", "nowhere/page.md"), ("nowhere",)),
        (("weigh", "alexnet", "--json", "-", "--csv", "-"), ("standard output",)),
        (("weigh", "alexnet:resolution=0"), ("resolution",)),
        (("weigh", "alexnet:nothing=1"), ("nothing",)),
    ],
    ids=ascii,
)
def test_bad_input_is_one_line(
    arguments: tuple[str, ...], words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(arguments)) == 2
    line = one_line(capsys)
    assert all(word in line for word in words)


def test_a_near_file_is_suggested(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model_v2.onnx").write_bytes(b"\x08\x07")
    assert main(["weigh", "model_v3.onnx"]) == 2
    assert "did you mean model_v2.onnx?" in one_line(capsys)


@pytest.mark.parametrize("content", [b"", b"GIF89a", b"\x80\x04\x95", b"hello\n", b"\x08\x07\xff\xff"], ids=repr)
def test_a_file_that_is_no_model(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.onnx").write_bytes(content)
    assert main(["weigh", "model.onnx"]) == 2
    assert "model.onnx" in one_line(capsys)


def test_a_network_file_with_faults_lists_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.toml").write_text("name = 3\nwhat = 4\n[[layer]]\nop = 5\n")
    assert main(["weigh", "net.toml"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("weighbridge: error: net.toml: ")
    assert captured.err.count("$") > 1


def test_a_network_file_takes_parameters_after_a_colon(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import weighbridge.textbook

    source = Path(weighbridge.textbook.__file__).with_name("alexnet.toml").read_bytes()
    (tmp_path / "mine.toml").write_bytes(source)
    assert main(["weigh", "mine.toml:resolution=256", "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["network"]["format"] == "toml"
    assert data["network"]["source"] == "mine.toml:resolution=256"
    weights = {node["name"]: node["weights"] for node in data["nodes"]}
    assert weights["fc6"] == 51_380_224


@pytest.mark.parametrize("network", ["lenet5", "mine.toml"])
@pytest.mark.parametrize("options", [("--batch", "8"), ("--dim", "batch=8"), ("--on", "toy", "--batches", "2,8")])
def test_a_parameter_is_given_in_one_place(
    network: str, options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the name of a network, textbook or file, or beside it; two values are never settled silently."""
    import weighbridge.textbook

    (tmp_path / "mine.toml").write_bytes(Path(weighbridge.textbook.__file__).with_name("lenet5.toml").read_bytes())
    assert main(["weigh", network, *options]) == 0
    capsys.readouterr()
    assert main(["weigh", f"{network}:batch=2", *options]) == 2
    said = f"{network}: 'batch' is 2 in the name of the network, and 8 beside it; leave batch=2 out of the name"
    assert said in one_line(capsys)


def test_a_folder_of_a_network_s_name_is_no_obstacle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "alexnet").mkdir()
    assert main(["weigh", "alexnet"]) == 0


def test_a_report_never_overwrites_the_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.toml").write_text("x")
    assert main(["weigh", "net.toml", "--json", "./net.toml"]) == 2
    assert "overwrite" in one_line(capsys)
    assert (tmp_path / "net.toml").read_text() == "x"


def test_what_cannot_be_written_does_not_keep_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "folder.json").mkdir()
    assert main(["weigh", "lenet5", "-o", "folder.json", "-o", "fine.md"]) == 2
    captured = capsys.readouterr()
    assert "lenet5" in captured.out
    assert (tmp_path / "fine.md").read_text(encoding="utf-8").startswith("# lenet5")
    assert captured.err.startswith("weighbridge: error: folder.json: cannot be written: ")


def test_of_several_that_cannot_be_written_none_is_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one.json", "two.md"):
        (tmp_path / name).mkdir()
    assert main(["weigh", "lenet5", "-o", "one.json", "-o", "fine.csv", "-o", "two.md"]) == 2
    captured = capsys.readouterr()
    assert (tmp_path / "fine.csv").stat().st_size
    assert captured.err.count("\n") == 1
    assert "one.json: cannot be written: " in captured.err
    assert "two.md: cannot be written: " in captured.err


def test_an_internal_error_is_one_line_and_says_whose_fault_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a \x1b[31m fault")

    monkeypatch.setattr("weighbridge.cli.weigh.weigh", fail)
    monkeypatch.delenv("WEIGHBRIDGE_DEBUG", raising=False)
    assert main(["weigh", "alexnet"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("weighbridge: internal error: ZeroDivisionError: a \\x1b[31m fault; ")
    assert "WEIGHBRIDGE_DEBUG=1" in message
    monkeypatch.setenv("WEIGHBRIDGE_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["weigh", "alexnet"])


def test_devices_are_listed_under_the_names_that_on_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert {"stm32f746", "raspberry-pi-5", "jetson-agx-orin", "a100", "toy"} <= set(names)
    assert main(["weigh", "lenet5", *(part for name in names for part in ("--on", name)), "--json", "-"]) == 0
    assert [on["device"] for on in json.loads(capsys.readouterr().out)["on"]] == names


def test_every_option_is_in_the_help_and_every_example_of_the_help_parses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", "--help"]) == 0
    text = capsys.readouterr().out
    for option in (
        "--on",
        "--batch",
        "--sequence",
        "--dim",
        "--input",
        "--weight-bits",
        "--activation-bits",
        "--precision",
    ):
        assert option in text
    for option in (
        "--as-written",
        "--json",
        "--csv",
        "--markdown",
        "--output",
        "--strict",
        "--require-fit",
        "--depth",
        "--all",
    ):
        assert option in text
    examples = [line.split()[1:] for line in text.splitlines() if line.strip().startswith("weighbridge weigh ")]
    assert len(examples) >= 5
    need_more = ("model.onnx", "model.tflite", "model.py", "torchvision:")
    codes = {" ".join(example): main(example) for example in examples if not example[1].startswith(need_more)}
    assert set(codes.values()) <= {0, 1}


def test_every_bad_input_is_one_line(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted((shared / "data" / "bad_inputs").iterdir())
    assert len(files) >= 6
    for file in files:
        assert main(["weigh", str(file)]) == 2
        assert file.name in one_line(capsys)
