"""``weigh path.py:factory``: importing a user's file, what can go wrong in it, and what is left behind: nothing.

These files need no PyTorch; tests/torch/test_command.py weighs what files make.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from weighbridge import BadSpec
from weighbridge.cli.main import main
from weighbridge.cli.user_file import made_by


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


FILE = """\
import sys
import beside
print("importing")
number = 3
class Net: pass
def make(width, depth=2): return {}
def fails():
    return beside.fails()
def own(): raise ValueError("two\\nlines \\x1b[31m")
def leaves(): sys.exit(0)
def device(): raise AssertionError("Torch not compiled with CUDA enabled")
def _hidden(): pass
class Own(BaseException): pass
def raises(): raise Own("of its own")
class Mute(Exception):
    def __str__(self): raise RuntimeError("cannot even say it")
def mute(): raise Mute
async def waits(): return {}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(FILE)
    (tmp_path / "beside.py").write_text("def fails():\n    raise KeyError('x')\n")
    return tmp_path / "model.py"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("model.py", ("model.py: what makes the model is not named", "model.py:NAME", "Net, make, fails")),
        ("model.py:", ("is not named",)),
        ("model.py:Nett", ("there is no 'Nett' in it", "did you mean Net?")),
        ("model.py:nothing_like_it", ("it defines Net, make",)),
        ("modle.py:Net", ("modle.py: there is no such file", "did you mean model.py?")),
        ("nowhere/model.py:Net", ("there is no such file",)),
        ("model.py:number", ("number is no torch.nn.Module but an object of type int",)),
        ("model.py:Net", ("Net returned no torch.nn.Module but an object of type Net",)),
        ("model.py:make", ("make(width, depth=2)", "'width'", "model.py:make:width=2")),
        ("model.py:make:width=1,height=2", ("'height'",)),
        ("model.py:make:width", ("'width' is no choice", "name=value")),
        ("model.py:make:width=1", ("make returned no torch.nn.Module but an object of type dict",)),
        ("model.py:fails", ("model.py:8: fails failed: KeyError: 'x'",)),
        ("model.py:own", ("model.py:9: own failed: ValueError: two lines \\x1b[31m",)),
        ("model.py:leaves", ("it called sys.exit",)),
        ("model.py:raises", ("it raised Own",)),
        ("model.py:mute", ("model.py:17: mute failed: Mute",)),
        ("model.py:waits", ("waits returned no torch.nn.Module but an object of type coroutine",)),
        ("model.py:device", ("model.py:11: ", "CUDA", "build the model on the CPU or the meta device")),
    ],
    ids=str,
)
def test_one_line_and_exit_code_2(
    source: str, words: tuple[str, ...], model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["weigh", source, "--input", "1x3x8x8"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    printed, _, line = captured.err.rpartition("weighbridge: error: ")
    assert printed in ("", "importing\n")
    assert line.count("\n") == 1
    assert all(word in line for word in words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"x = 1\ny = (\n", ("broken.py:2: the file cannot be imported: SyntaxError",)),
        (b"\n\nimport nothing_like_this\n", ("broken.py:3", "ModuleNotFoundError", "install nothing_like_this")),
        (b"import sys\nsys.exit(0)\n", ("broken.py: it called sys.exit",)),
        (b"x = 1 / 0\n", ("broken.py:1", "ZeroDivisionError: division by zero")),
        (b"\xff\xfe\n", ("broken.py", "SyntaxError")),
        (b"from . import other\n", ("broken.py:1", "ImportError")),
        (b"raise Exception\n", ("broken.py:1: the file cannot be imported: Exception\n",)),
    ],
    ids=repr,
)
def test_a_file_that_cannot_be_imported(
    content: bytes, words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.py").write_bytes(content)
    assert main(["weigh", "broken.py:Net"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert all(word in captured.err for word in words)


def test_what_others_print_is_kept_from_the_report(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "loud.py").write_text("import os\nos.system('echo from a program')\nprint('from Python')\n")
    assert main(["weigh", "loud.py:Net", "--json", "-"]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "from a program\n" in captured.err
    os.write(1, b"afterwards\n")
    assert capfd.readouterr().out == "afterwards\n"


def test_the_current_folder_stays(tmp_path: Path) -> None:
    """Else a report would be written into the folder that the file went to."""
    (tmp_path / "moves.py").write_text("import os, sys\nos.chdir('/')\nsys.path.clear()\n")
    with pytest.raises(BadSpec), made_by(tmp_path / "moves.py", "Net", {}):
        pytest.fail("there is no module")
    assert Path.cwd() == tmp_path


@pytest.mark.parametrize("name", ["own", "make", "leaves", "Net", "raises"])
def test_nothing_is_left_behind(name: str, model: Path, tmp_path: Path) -> None:
    before = sys.path[:], sys.argv, sys.dont_write_bytecode, sys.stdout, dict(sys.modules)
    with pytest.raises(BadSpec), made_by(model, name, {}):
        pytest.fail("there is no module")
    assert (sys.path, sys.argv, sys.dont_write_bytecode, sys.stdout, dict(sys.modules)) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["beside.py", "model.py"]


@pytest.mark.parametrize("name", ["json.py", "weighbridge.py"])
def test_a_file_may_be_called_like_a_library(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_text("import pathlib\nassert __name__ != '__main__'\n")
    before = dict(sys.modules)
    assert main(["weigh", f"{name}:Net"]) == 2
    assert "there is no 'Net' in it" in capsys.readouterr().err
    assert dict(sys.modules) == before


def test_a_library_that_the_file_needed_stays(tmp_path: Path) -> None:
    """A compiled library cannot be imported twice in one process."""
    installed = tmp_path / ".venv" / "site-packages"
    installed.mkdir(parents=True)
    (installed / "some_library_of_theirs.py").write_text("")
    (tmp_path / "model.py").write_text(
        f"import sys\nsys.path.append({str(installed)!r})\nimport some_library_of_theirs\n"
    )
    try:
        with pytest.raises(BadSpec, match="there is no 'Net'"), made_by(tmp_path / "model.py", "Net", {}):
            pytest.fail("there is no module")
        assert "some_library_of_theirs" in sys.modules
        assert "model" not in sys.modules
        assert str(installed) not in sys.path
    finally:
        del sys.modules["some_library_of_theirs"]


def test_a_report_never_overwrites_the_file(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for source in ("model.py:make:width=1", "model.py"):
        assert main(["weigh", source, "--json", "model.py"]) == 2
        assert "overwrite" in capsys.readouterr().err
    assert model.read_text() == FILE


@pytest.mark.parametrize(
    ("file", "source"), [("config.json", "transformers:config.json"), ("config.json", "transformers:.")]
)
def test_nor_a_config(file: str, source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / file).write_text("{}")
    assert main(["weigh", source, "--json", file]) == 2
    assert "overwrite" in capsys.readouterr().err


def test_nor_a_network_with_choices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.toml").write_text("")
    assert main(["weigh", "net.toml:width=2", "-o", "other.md", "--json", "net.toml"]) == 2
    assert "overwrite" in capsys.readouterr().err
