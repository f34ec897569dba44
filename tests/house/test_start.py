"""What is loaded when: a framework only by its own front end, in child processes, by ``sys.modules``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FRAMEWORKS = {"onnx", "numpy", "safetensors", "google.protobuf", "torch", "tensorflow", "tflite", "flatbuffers"}
EXPORTED = Path(__file__).resolve().parents[2] / "docs" / "examples" / "small_net.pt2"
BUDGETS = EXPORTED.parent / "budget_repository" / "weighbridge.toml"
DRAWING = {"altair", "jinja2", "vl_convert"}
SERVING = {"starlette", "uvicorn", "asyncio"}
LIBRARIES = {"rich", "typer", "cattrs", "click"}


def loaded_by(program: str) -> set[str]:
    """The modules that ``program`` leaves loaded; what it prints goes unseen."""
    program = f"import sys\n{program}\nsys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def command(*arguments: str) -> str:
    return f"from weighbridge.cli.main import main\nassert main({list(arguments)!r}) == 0"


def test_importing_the_package_loads_nothing_else() -> None:
    modules = loaded_by("import weighbridge")
    assert not modules & (FRAMEWORKS | LIBRARIES)
    assert {name for name in modules if name.startswith("weighbridge")} == {"weighbridge"}


def test_the_pytest_plug_in_loads_nothing_else() -> None:
    """It is imported in every run of pytest, whatever the tests are about."""
    modules = loaded_by("import weighbridge.pytest_plugin")
    assert not modules & (FRAMEWORKS | LIBRARIES - loaded_by("import pytest"))
    assert {name for name in modules if name.startswith("weighbridge")} == {"weighbridge", "weighbridge.pytest_plugin"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("--version",),
        ("weigh", "--help"),
        ("weigh", "alexnet", "--on", "toy"),
        ("weigh", "alexnet", "--json", "-"),
        ("devices",),
        ("weigh", str(EXPORTED), "--batch", "4"),
        ("report", "--help"),
        ("plot", "--help"),
        ("compare", "--help"),
        ("compare", "lenet5", "mlp", "--on", "toy"),
        ("check", "--help"),
        ("check", "--budgets", str(BUDGETS), "keyword_spotter"),
        ("compress", "--help"),
        ("compress", "alexnet", "--plan", "deep-compression"),
        ("measure", "--help"),
        ("history", str(EXPORTED.with_name("times.jsonl"))),
        ("app", "--help"),
        ("layer", "--help"),
    ],
    ids=lambda arguments: " ".join(Path(one).name for one in arguments),
)
def test_commands_that_need_no_framework_load_none(arguments: tuple[str, ...]) -> None:
    assert not loaded_by(command(*arguments)) & (FRAMEWORKS | DRAWING | SERVING)


def test_a_command_that_reads_no_saved_report_loads_nothing_for_it() -> None:
    modules = loaded_by(command("weigh", "lenet5"))
    unasked = {
        "cli.saved",
        "cli.report",
        "cli.plot",
        "report.json",
        "report.json_text",
        "report.charts",
        "report.html_file",
        "compressing",
        "compression",
        "cli.compress",
        "comparing",
        "cli.compare",
        "report.comparison",
        "report.matching",
        "published",
        "revisions",
        "checking",
        "cli.check",
        "budgets",
        "cli.web",
        "web",
        "web.server",
    }
    assert not modules & {f"weighbridge.{name}" for name in unasked}


def test_the_app_loads_what_draws_a_chart_of_a_report_for_no_page_of_its_own() -> None:
    """Nor a front end of a framework: what it weighs are networks of its own."""
    program = "from weighbridge.web.simulators import simulators\nfrom weighbridge.web.simulator import answered\n"
    modules = loaded_by(f"{program}assert all(answered(one, [])[1] for one in simulators().values())")
    assert not modules & (FRAMEWORKS | DRAWING | SERVING)


def test_help_loads_no_reader_of_files() -> None:
    assert "cattrs" not in loaded_by(command("--help"))


def test_the_python_interface_loads_what_it_is_asked_for() -> None:
    modules = loaded_by("import weighbridge\nweighbridge.weigh('alexnet')")
    assert not modules & (FRAMEWORKS | {"rich", "typer"})


def test_inputs_of_a_module_can_be_said_without_pytorch() -> None:
    assert not loaded_by("import weighbridge\nweighbridge.TensorSpec((1, 2), 'int64')") & FRAMEWORKS


def test_an_onnx_model_loads_its_own_framework_alone(tmp_path: Path) -> None:
    helper = pytest.importorskip("onnx").helper
    ends = [helper.make_tensor_value_info(name, 1, [1, 8]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", ends[:1], ends[1:])
    path = tmp_path / "model.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    assert not loaded_by(command("weigh", str(path))) & {"torch", "tensorflow", "torchvision", "transformers", "pandas"}


def test_a_tflite_model_loads_no_framework_and_nothing_that_was_not_asked_for(tmp_path: Path) -> None:
    from tests.tflite.damage import plain

    path = tmp_path / "model.tflite"
    path.write_bytes(plain())
    modules = loaded_by(command("weigh", str(path)))
    assert not modules & FRAMEWORKS
    unasked = {"devices.device", "counts.conventions", "frontends.torch_inputs", "frontends.onnx_model", "estimates"}
    assert not modules & {"rich", *(f"weighbridge.{name}" for name in unasked)}


@pytest.mark.parametrize("name", ["resnet101", "alexnte"])
def test_a_hint_loads_no_framework(name: str) -> None:
    """What torchvision has is read off its files."""
    program = f"from weighbridge.cli.main import main\nassert main(['weigh', {name!r}]) == 2"
    assert not loaded_by(program) & (FRAMEWORKS | {"torchvision"})
