"""The file of budgets: where it is found, what it means, and every fault in it at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from weighbridge.budgets.read import named, read_budgets
from weighbridge.errors import BadSpec

_MODEL = '[models.net]\nsource = "alexnet"\nbudgets = ["macs <= 30 M"]\n'
_IN_PROJECT = _MODEL.replace("[models", "[tool.weighbridge.models")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _write(path: str, text: str) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def _refused(text: str, path: str = "weighbridge.toml") -> BadSpec:
    with pytest.raises(BadSpec) as caught:
        read_budgets(_write(path, text))
    return caught.value


@pytest.mark.parametrize(("name", "text"), [("weighbridge.toml", _MODEL), ("pyproject.toml", _IN_PROJECT)])
@pytest.mark.parametrize("below", [".", "src", "src/deep/er"])
def test_it_is_found_from_the_working_folder_upwards(
    name: str, text: str, below: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(name, text)
    Path(below).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(below)
    found = read_budgets()
    assert found.path.resolve() == found.path.parent.resolve() / name
    assert not found.path.is_absolute()
    assert found.baseline.resolve() == found.path.parent.resolve() / "weighbridge-baseline.json"
    assert [(model.name, model.source, len(model.budgets)) for model in found.models] == [("net", "alexnet", 1)]


def test_a_project_that_does_not_speak_of_us_is_passed_by() -> None:
    _write("weighbridge.toml", _MODEL)
    _write("inner/pyproject.toml", "[tool.ruff]\nline-length = 120\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir("inner")
        assert read_budgets().path == Path("../weighbridge.toml")


def test_the_nearest_file_is_taken_and_two_in_one_folder_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _write("weighbridge.toml", _MODEL)
    _write("inner/pyproject.toml", _IN_PROJECT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir("inner")
        assert read_budgets().path == Path("pyproject.toml")
    _write("pyproject.toml", _IN_PROJECT)
    with pytest.raises(BadSpec, match=r"there are budgets in weighbridge\.toml and in pyproject\.toml beside it"):
        read_budgets()
    assert read_budgets(Path("pyproject.toml")).path == Path("pyproject.toml")


@pytest.mark.parametrize("text", ["[[tool.weighbridge]]\nx = 1\n", "[tool]\nweighbridge = 3\n"])
def test_what_is_meant_for_us_and_cannot_be_read_is_not_passed_by(text: str) -> None:
    _write("weighbridge.toml", _MODEL)
    _write("inner/pyproject.toml", text)
    for folder in ("inner", "inner/deeper"):
        Path(folder).mkdir(exist_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            with pytest.raises(BadSpec, match=r"pyproject\.toml: \$\.tool\.weighbridge: must be a table, not "):
                read_budgets()
    with pytest.raises(BadSpec, match="must be a table"):
        read_budgets(Path("inner/pyproject.toml"))


@pytest.mark.parametrize("kind", ["folder", "link to nowhere"])
def test_what_has_the_name_of_the_file_is_not_passed_by(kind: str) -> None:
    _write("weighbridge.toml", _MODEL)
    place = Path("inner/weighbridge.toml")
    place.parent.mkdir()
    if kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("nowhere")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir("inner")
        with pytest.raises(BadSpec, match=r"weighbridge\.toml: (this is a folder|the file of budgets cannot be read)"):
            read_budgets()


def test_nothing_is_found() -> None:
    with pytest.raises(
        BadSpec, match=r"there is no weighbridge\.toml, and no pyproject\.toml with \[tool\.weighbridge\]"
    ):
        read_budgets()


def test_everything_a_model_can_say() -> None:
    text = """\
baseline = "kept/mine.json"

[models.net]
source = "model.onnx"
on = ["stm32f746", "toy"]
batch = 2
sequence = 128
dims = { seq = 64 }
input = ["x=1x3x32x32", "mask=1x32"]
precision = "int8"
weight_bits = ["first=8", 4]
activation_bits = 8
reserve = "sram=64KiB"
energy = "45nm"
train = "sgd"
as_written = true
budgets = ["macs <= 30 M", "fits on stm32f746"]
"""
    found = read_budgets(_write("weighbridge.toml", text))
    (model,) = found.models
    assert found.baseline == Path("kept/mine.json")
    assert model.on == ("stm32f746", "toy")
    assert model.options == {
        "batch": 2,
        "sequence": 128,
        "dims": {"seq": 64},
        "input": ("x=1x3x32x32", "mask=1x32"),
        "precision": "int8",
        "weight_bits": ("first=8", 4),
        "activation_bits": 8,
        "reserve": ("sram=64KiB",),
        "energy": "45nm",
        "train": "sgd",
        "as_written": True,
    }
    assert [(one.text, one.metric, one.device) for one in model.budgets] == [
        ("macs <= 30 M", "macs", None),
        ("fits on stm32f746", "verdict", "stm32f746"),
    ]


def test_defaults_hold_unless_a_model_says_otherwise_and_their_budgets_hold_beside_its_own() -> None:
    text = """\
[defaults]
on = "toy"
batch = 4
budgets = ["macs grow <= 2 %"]
[models.a]
source = "alexnet"
[models.b]
source = "lenet5"
on = []
batch = 1
budgets = ["parameters == 61706"]
"""
    a, b = read_budgets(_write("weighbridge.toml", text)).models
    assert (a.on, a.options, [one.text for one in a.budgets]) == (("toy",), {"batch": 4}, ["macs grow <= 2 %"])
    assert (b.on, b.options) == ((), {"batch": 1})
    assert [one.text for one in b.budgets] == ["macs grow <= 2 %", "parameters == 61706"]


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("model.onnx", "deploy/model.onnx"),
        ("../model.onnx", "deploy/../model.onnx"),
        ("net.toml:width=0.5", "deploy/net.toml:width=0.5"),
        ("net.py:Net:width=8", "deploy/net.py:Net:width=8"),
        ("a/model.tflite:decode", "deploy/a/model.tflite:decode"),
        ("alexnet:resolution=256", "alexnet:resolution=256"),
        ("torchvision:resnet18", "torchvision:resnet18"),
        ("transformers:bert/config.json", "transformers:deploy/bert/config.json"),
    ],
)
def test_paths_are_relative_to_the_file(written: str, seen: str) -> None:
    text = f'[models.net]\nsource = "{written}"\non = ["toy", "mine.toml"]\nenergy = "./mine.toml"\nbudgets = ["macs <= 1"]\n'
    (model,) = read_budgets(_write("deploy/weighbridge.toml", text)).models
    assert (model.source, model.written, model.shown) == (seen, written, written)
    assert model.on == ("toy", "deploy/mine.toml")
    assert model.options["energy"] == "deploy/mine.toml"


def test_every_fault_is_told_at_once_with_its_path_and_the_nearest_key() -> None:
    text = """\
basline = "x.json"
[models.net]
source = 3
bugdets = ["macs <= 1 M"]
batch = 0
as_written = "yes"
on = ["toy", 5]
dims = { seq = 1.5 }
budgets = ["macks <= 1 M", "macs <= 1 M", "macs > 3"]
[models."my net"]
budgets = []
"""
    error = _refused(text)
    assert str(error).startswith("weighbridge.toml: the file of budgets has ")
    told = "\n".join(error.details)
    for part in (
        "$: has no key 'basline'; did you mean 'baseline'?",
        "$.models.net: has no key 'bugdets'; did you mean 'budgets'?",
        "$.models.net.source: must be text, not 3",
        "$.models.net.batch: must be a whole number from 1 to 1,000,000,000,000,000,000, not 0",
        "$.models.net.as_written: must be true or false, not 'yes'",
        "$.models.net.on[1]: must be text, not 5",
        "$.models.net.dims['seq']: must be a whole number from 1 to 1,000,000,000,000,000,000, not 1.5",
        "$.models.net.budgets[0]: macks <= 1 M: there is no metric 'macks'; did you mean macs?",
        "$.models.net.budgets[2]: macs > 3: ",
        "$.models.'my net'.source: is missing",
        "$.models.'my net'.budgets: is missing",
    ):
        assert part in told
    assert len(error.details) == 11


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "$.models: is missing"),
        ("[models]\n", "$.models: has no model"),
        ("models = 3\n", "$.models: must be tables, not 3"),
        ("[models]\nnet = 3\n", "$.models.net: must be a table, not 3"),
        ("defaults = []\n" + _MODEL, "$.defaults: must be a table, not a list"),
        ('[defaults]\nsource = "alexnet"\n' + _MODEL, "$.defaults.source: is for each model to say"),
        ("baseline = 3\n" + _MODEL, "$.baseline: must be text, not 3"),
        ('baseline = "a\\nb"\n' + _MODEL, "$.baseline: must be one line"),
        (_MODEL.replace("models.net", 'models."a\\u0007b"'), "must be one line"),
        (_MODEL.replace('["macs <= 30 M"]', "[]"), "$.models.net.budgets: is missing"),
        (_MODEL.replace('["macs <= 30 M"]', "{}"), "$.models.net.budgets: must be text, not a table"),
    ],
)
def test_a_fault_alone(text: str, fault: str) -> None:
    (told,) = _refused(text).details
    assert fault in told


def test_of_many_keys_that_do_not_exist_some_are_told() -> None:
    error = _refused(_MODEL + "".join(f"odd{place} = 1\n" for place in range(5_000)))
    (told,) = error.details or [str(error)]
    assert told.count("has no key") == 6
    assert told.count("the keys here are source, on") == 1
    assert told.endswith("and 4,994 more")


def test_faults_of_a_project_have_their_whole_path() -> None:
    error = _refused(_IN_PROJECT.replace("macs", "maks"), "pyproject.toml")
    assert error.details[0].startswith("$.tool.weighbridge.models.net.budgets[0]: ")


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("weighbridge.toml", _IN_PROJECT, "only pyproject.toml has its tables below tool.weighbridge"),
        ("pyproject.toml", "[tool.ruff]\n", "there are no budgets in it: it has no [tool.weighbridge]"),
        ("weighbridge.toml", "[models\n", "this is not TOML"),
        ("weighbridge.toml", "x" * (1 << 20) + "x", "larger than 1 MiB"),
    ],
)
def test_other_files(path: str, text: str, message: str) -> None:
    assert message in str(_refused(text, path))


def test_a_file_that_is_not_there_and_a_folder() -> None:
    with pytest.raises(BadSpec, match="cannot be read: No such file"):
        read_budgets(Path("nowhere.toml"))
    with pytest.raises(BadSpec, match="this is a folder"):
        read_budgets(Path())


def test_models_by_name() -> None:
    budgets = read_budgets(_write("weighbridge.toml", _MODEL + _MODEL.replace("net", "other")))
    assert [model.name for model in named(budgets, [])] == ["net", "other"]
    assert [model.name for model in named(budgets, ["other"])] == ["other"]
    with pytest.raises(BadSpec, match=r"weighbridge\.toml: there is no model 'othr' in it; did you mean other\?"):
        named(budgets, ["net", "othr"])


_ODD = (
    "3",
    "-1",
    "0",
    "1.5",
    "true",
    "nan",
    "inf",
    '""',
    '" "',
    '"\\u0000"',
    "[]",
    "[[]]",
    "{}",
    "{ a = {} }",
    "1979-05-27",
)
_KEYS = (
    *("source", "on", "batch", "sequence", "dims", "input", "precision", "weight_bits", "activation_bits"),
    *("reserve", "energy", "train", "as_written", "budgets"),
)


@pytest.mark.parametrize("value", [*_ODD, f'"{"x" * 600}"', "9" * 400])
@pytest.mark.parametrize("key", _KEYS)
def test_whatever_a_key_has_it_is_read_or_told_with_its_path(key: str, value: str) -> None:
    text = "\n".join(line for line in _MODEL.splitlines() if not line.startswith(f"{key} "))
    for listed in (value, f"[{value}]"):
        file = _write("weighbridge.toml", f"{text}\n{key} = {listed}\n")
        try:
            (model,) = read_budgets(file).models
        except BadSpec as error:
            assert str(error).startswith("weighbridge.toml: the file of budgets has 1 fault: ")
            assert error.details[0].startswith(f"$.models.net.{key}")
        else:
            assert model.budgets
