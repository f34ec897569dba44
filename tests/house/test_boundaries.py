"""The fences hold: a violation planted in a copy of the code is caught by the linter that is said to catch it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent
CORE = (
    *("graph.py", "builder.py", "operators/record.py", "passes/static.py", "counts/facts.py", "memory/records.py"),
    *("compression/layer.py", "measure/summary.py", "measure/harness.py"),
)


def ruff(planted: str, name: str) -> str:
    """The codes that ruff finds in ``planted``, were it a module of this name."""
    command = [
        TOOLS / "ruff",
        "check",
        "--output-format",
        "concise",
        "--stdin-filename",
        f"src/weighbridge/{name}",
        "-",
    ]
    return subprocess.run(command, input=planted, cwd=ROOT, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("name", [*CORE, "estimates/fit.py", "units.py"])
@pytest.mark.parametrize(
    "planted",
    [
        "import os",
        "import io",
        "from pathlib import Path",
        "from time import monotonic",
        "import datetime",
        "import random",
    ],
)
def test_the_core_touches_no_world_and_no_clock(name: str, planted: str) -> None:
    assert "TID251" in ruff(f"{planted}\n", name)


@pytest.mark.parametrize("name", [*CORE, "estimates/fit.py", "cli/main.py"])
def test_nothing_opens_or_prints_in_passing(name: str) -> None:
    found = ruff('open("x")\nprint("x")\n', name)
    assert "PTH123" in found
    assert "T201" in found


@pytest.mark.parametrize("name", ["frontends/sniff.py", "devices/read.py", "report/html.py", "cli/main.py"])
def test_the_edges_may(name: str) -> None:
    assert "TID251" not in ruff("import os\n", name)


FRAMEWORKS = "The core imports no framework and no terminal library"
DEVICES = "Counts and memory know no device"
FRONT_END = "A framework is imported by its own front end alone"
FILES = "Files are read without PyTorch: no module that imports it is in reach"
MEASURE = "A measurement knows no estimate"
RUNTIME = "A runtime is loaded by the process that runs it, and by nobody who asks for a measurement"
LAYERS = "The vocabulary stands at the bottom"


@pytest.mark.parametrize(
    ("name", "planted", "contract"),
    [
        ("counts/facts.py", "import onnx", FRAMEWORKS),
        ("operators/record.py", "import numpy", FRAMEWORKS),
        ("estimates/fit.py", "from weighbridge.devices.read import read_device", FRAMEWORKS),
        ("compression/huffman.py", "import numpy", FRAMEWORKS),
        ("frontends/weights.py", "import safetensors", FRONT_END),
        ("memory/records.py", "from weighbridge.devices.device import Device", DEVICES),
        ("graph.py", "from weighbridge.counts.facts import NetworkFacts", LAYERS),
        ("report/record.py", "import onnx", FRONT_END),
        ("frontends/onnx_wire.py", "from google.protobuf import message", FRONT_END),
        ("frontends/torch_sources.py", "import timm", FRONT_END),
        ("frontends/aten_archive.py", "from weighbridge.frontends.torch_capture import type_of", FILES),
        ("measure/record.py", "from weighbridge.estimates.fit import fit", MEASURE),
        ("measure/machine.py", "from weighbridge.devices.device import Device", MEASURE),
        ("measure/runners/filled.py", "import onnxruntime", FRONT_END),
        ("measure/apart.py", "from weighbridge.measure.worker import main", RUNTIME),
    ],
)
def test_a_planted_import_breaks_a_contract(tmp_path: Path, name: str, planted: str, contract: str) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    path = tmp_path / "src" / "weighbridge" / name
    path.write_text(path.read_text() + f"\n{planted}\n")
    assert f"{contract} BROKEN" in " ".join(lint_imports(tmp_path).split())


def lint_imports(folder: Path) -> str:
    program = (
        "import sys; sys.path.insert(0, 'src'); from importlinter.cli import lint_imports; lint_imports(no_cache=True)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout
