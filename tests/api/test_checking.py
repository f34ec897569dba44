"""``weighbridge.check``: a file of budgets from Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import weighbridge
from weighbridge import BadSpec, Checked, check
from weighbridge.budgets.baseline import baseline_of, to_text
from weighbridge.budgets.record import NOT_EXACT, OVER, PASSED

BUDGETS = """\
[models.digits]
source = "lenet5"
on = ["toy"]
budgets = ["macs <= 1 M", "macs grow <= 2 % against the baseline", "fits on toy"]

[models.wide]
source = "mlp"
budgets = ["parameters <= 1 k"]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weighbridge.toml").write_text(BUDGETS, encoding="utf-8")
    kept = {"digits": baseline_of(weighbridge.weigh("lenet5", on="toy"), "lenet5")}
    (tmp_path / "weighbridge-baseline.json").write_text(to_text(kept), encoding="utf-8")
    return tmp_path


def statuses(found: Checked) -> dict[str, list[str]]:
    return {model.name: [one.status for one in model.results] for model in found.models}


def test_the_nearest_file_with_all_of_its_models(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (folder, folder / "deeper" / "still"):
        place.mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(place)
        found = check()
        assert statuses(found) == {"digits": [PASSED, PASSED, PASSED], "wide": [OVER]}
        assert (found.exit_code, found.unchecked) == (1, ())
        assert found.tool == f"weighbridge {weighbridge.__version__}"


@pytest.mark.parametrize("path", ["weighbridge.toml", Path("weighbridge.toml")])
@pytest.mark.parametrize("models", ["digits", ["digits"], ("digits", "digits")])
def test_a_file_and_one_of_its_models(path: str | Path, models: str | list[str]) -> None:
    found = check(path, models)
    assert statuses(found) == {"digits": [PASSED, PASSED, PASSED]}
    assert found.exit_code == 0
    assert found.models[0].differences is not None
    assert not found.models[0].differences.layers


def test_a_model_that_is_not_there_is_an_error() -> None:
    with pytest.raises(BadSpec, match=r"there is no model 'digit' in it; did you mean digits\?"):
        check(models="digit")
    with pytest.raises(BadSpec, match="No such file"):
        check("other.toml")


@pytest.mark.parametrize("given", [{"path": 3}, {"path": b"x"}, {"models": 3}, {"models": [3]}, {"models": [None]}])
def test_what_is_no_file_and_no_name_is_an_error(given: dict[str, Any]) -> None:
    with pytest.raises(BadSpec, match=r"is a path, not a |are named, not a |there is no model (3|None) in it"):
        check(**given)


def test_a_baseline_that_is_damaged_is_an_error(folder: Path) -> None:
    (folder / "weighbridge-baseline.json").write_text('{"schema": 2, "models": {}}', encoding="utf-8")
    with pytest.raises(BadSpec, match=r"weighbridge-baseline\.json: \$\.schema: the baseline has schema 2"):
        check()


def test_a_model_that_cannot_be_weighed_keeps_no_other_from_being_checked(folder: Path) -> None:
    more = """
[models.gone]
source = "gone.onnx"
budgets = ["macs <= 1 M"]
[models.elsewhere]
source = "lenet5"
on = ["stm32f764"]
budgets = ["macs <= 1 M"]
[models.code]
source = "net.py:make"
budgets = ["macs <= 1 M"]
"""
    (folder / "weighbridge.toml").write_text(BUDGETS + more, encoding="utf-8")
    found = check()
    assert statuses(found) == {"digits": [PASSED, PASSED, PASSED], "wide": [OVER]}
    reasons = {one.model: (one.budget, one.reason) for one in found.unchecked}
    assert reasons["gone"] == (None, "gone.onnx: there is no such file; check the path")
    assert "did you mean stm32f746?" in reasons["elsewhere"][1]
    assert "imported by the command line alone" in reasons["code"][1]
    assert found.exit_code == 2


def test_a_budget_that_cannot_be_checked_keeps_no_other_from_it(folder: Path) -> None:
    (folder / "weighbridge-baseline.json").unlink()
    found = check(models="digits")
    assert statuses(found) == {"digits": [PASSED, PASSED]}
    (one,) = found.unchecked
    assert (one.budget, found.exit_code) == ("macs grow <= 2 % against the baseline", 2)
    assert one.reason.startswith("growth is measured from a baseline, and there is none of this model; run")


def test_a_model_is_weighed_as_its_entry_says(folder: Path) -> None:
    entry = """\
[models.digits]
source = "lenet5"
on = ["toy"]
batch = 4
precision = "int8"
reserve = ["memory=1kB"]
energy = "45nm"
train = "adam"
dims = { classes = 7 }
budgets = ["macs <= 1 G", "training.total_bytes <= 1 GB", "energy.SRAM_j <= 1 J"]
"""
    (folder / "weighbridge.toml").write_text(entry, encoding="utf-8")
    (model,) = check().models
    options = {"batch": 4, "precision": "int8", "reserve": ["memory=1kB"], "energy": "45nm", "train": "adam"}
    alone = weighbridge.weigh("lenet5", on="toy", dims={"classes": 7}, **options)
    assert model.report.facts == alone.facts
    assert model.report.on == alone.on
    assert model.report.memory == alone.memory


def test_inputs_are_stated_as_on_the_command_line(folder: Path) -> None:
    onnx = pytest.importorskip("onnx")
    made = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "net",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["rows", 3])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["rows", 5])],
        [onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [3, 5], [0.0] * 15)],
    )
    (folder / "models").mkdir()
    onnx.save(onnx.helper.make_model(made), folder / "models" / "net.onnx")
    entry = '[models.net]\nsource = "models/net.onnx"\ninput = "x=7x3"\nbudgets = ["macs == 105"]\n'
    (folder / "weighbridge.toml").write_text(entry, encoding="utf-8")
    found = check()
    assert statuses(found) == {"net": [PASSED]}
    assert found.models[0].report.network.source == "models/net.onnx"
    (folder / "weighbridge.toml").write_text(entry.replace("x=7x3", "x=7y3"), encoding="utf-8")
    assert "is no shape of an input" in check().unchecked[0].reason


def test_a_report_says_where_its_model_is_from_the_file_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from weighbridge.textbook import __file__ as textbook

    text = (Path(textbook).parent / "lenet5.toml").read_text(encoding="utf-8")
    (folder / "net.toml").write_text(text, encoding="utf-8")
    (folder / "weighbridge.toml").write_text(
        '[models.net]\nsource = "net.toml"\nbudgets = ["macs <= 1 M"]\n', encoding="utf-8"
    )
    (folder / "deeper").mkdir()
    for place in (folder, folder / "deeper"):
        monkeypatch.chdir(place)
        (model,) = check().models
        assert (model.source, model.report.network.source) == ("net.toml", "net.toml")


def test_what_is_not_counted_is_refused(folder: Path) -> None:
    onnx = pytest.importorskip("onnx")
    made = onnx.helper.make_graph(
        [onnx.helper.make_node("Odd", ["x"], ["y"], domain="mine")],
        "net",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 3])],
    )
    model = onnx.helper.make_model(
        made, opset_imports=[onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("mine", 1)]
    )
    onnx.save(model, folder / "net.onnx")
    entry = '[models.net]\nsource = "net.onnx"\nbudgets = ["macs <= 1 G"]\n'
    (folder / "weighbridge.toml").write_text(entry, encoding="utf-8")
    found = check()
    assert (statuses(found), found.exit_code) == ({"net": [NOT_EXACT]}, 3)
    assert any("mine.Odd" in note for note in found.models[0].results[0].notes)


def test_progress_is_told() -> None:
    told: list[str] = []
    check(models="digits", progress=told.append)
    assert "counting and planning the memory" in told
