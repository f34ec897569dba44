"""The baseline file: it comes back as it was, changes where the network does, and is never read where it is damaged."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

from tests.report.samples import node, report
from weighbridge import BadSpec, weigh
from weighbridge.budgets.baseline import baseline_of, from_text, read_baseline, to_text
from weighbridge.budgets.record import BaselineModel
from weighbridge.report.layers import layers_of
from weighbridge.textbook import names


def lenet5(on: str = "toy") -> BaselineModel:
    return baseline_of(weigh("lenet5", on=on), "lenet5")


@pytest.mark.parametrize("name", names())
def test_it_comes_back_as_it_was(name: str) -> None:
    kept = {name: baseline_of(weigh(name, on=["toy", "stm32f746"], energy="45nm"), name)}
    assert from_text(to_text(kept)) == kept
    assert to_text(from_text(to_text(kept))) == to_text(kept)


def test_what_is_unknown_or_a_lower_bound_stays_so() -> None:
    kept = {"net": baseline_of(report([node("a"), node("b", macs=None, output=None)]), "net.onnx")}
    (read,) = from_text(to_text(kept)).values()
    assert read == kept["net"]
    assert not read.figures["macs", None].exact
    assert read.figures["peak_bytes.live", None].value is None
    assert read.peak_nodes == {}


def test_large_numbers_and_odd_names_come_back() -> None:
    kept = {"nét \x00\ud800 \u202e": baseline_of(report([node("conv/1 \x1b", weights=10**30, macs=10**40)]), "a b")}
    text = to_text(kept)
    assert text.isascii()
    assert from_text(text) == kept


def test_the_text_is_the_same_in_whatever_order_the_models_come() -> None:
    one, other = lenet5(), baseline_of(weigh("mlp"), "mlp")
    assert to_text({"b": one, "a": other}) == to_text({"a": other, "b": one})


def test_a_review_shows_the_layer_and_the_figures_that_changed_and_nothing_else(tmp_path: Path) -> None:
    from weighbridge.textbook import __file__ as textbook

    text = (Path(textbook).parent / "lenet5.toml").read_text(encoding="utf-8")
    path = tmp_path / "net.toml"

    def lines(written: str) -> list[str]:
        path.write_text(written, encoding="utf-8")
        return to_text({"net": baseline_of(weigh(path), "net.toml")}).splitlines()

    before, after = lines(text), lines(text.replace("out = 84", "out = 85"))
    changed = [line for line in unified_diff(before, after, lineterm="", n=0) if line[0] == "+" and line[1] != "+"]
    layers = [json.loads(line[1:].rstrip(","))["name"] for line in changed if '"operator"' in line]
    figures = [json.loads(line[1:].rstrip(","))["name"] for line in changed if '"unit"' in line]
    assert layers == ["f6", "output"]
    assert {"macs", "parameters", "weight_bytes"} <= set(figures)
    assert "peak_bytes.live" not in figures
    assert len(changed) == len(layers) + len(figures)


def scalars(value: Any, path: str = "$") -> Iterator[tuple[Any, Any, str]]:
    """Every place of a scalar in plain data: what holds it, its key there, and its path."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in entries:
        inside = f"{path}.{key}" if isinstance(value, dict) else f"{path}[{key}]"
        if isinstance(inner, (dict, list)):
            yield from scalars(inner, inside)
        else:
            yield value, key, inside


WRONG = (-1, 0.5, 1e400, float("nan"), True, "x", [], {}, 10**4000)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: repr(wrong)[:8])
def test_a_wrong_value_anywhere_is_told_with_its_path_or_is_none(wrong: object) -> None:
    """Text may be any text, what measures may be any number from 0 on, and what is exact is true or false; nothing else passes."""
    plain = json.loads(to_text({"net": lenet5()}))
    for holder, key, path in scalars(plain):
        kept, holder[key] = holder[key], wrong
        text = json.dumps(plain)
        holder[key] = kept
        try:
            (read,) = from_text(text).values()
        except BadSpec as error:
            assert error.where
            assert path.startswith(error.where), (path, error.where)
            continue
        assert type(wrong) is type(kept) or (key == "device" and wrong == "x"), path
        assert isinstance(wrong, (str, bool)) or wrong == 0.5, path
        assert isinstance(read, BaselineModel)


def test_a_key_that_is_missing_anywhere_is_told() -> None:
    plain = json.loads(to_text({"net": lenet5()}))
    places = [plain["models"]["net"], plain["models"]["net"]["figures"][3], plain["models"]["net"]["layers"][2]]
    for holder in places:
        for key in list(holder):
            kept = holder.pop(key)
            with pytest.raises(BadSpec, match=rf"^\$\.models\.net.*lacks '{key}'"):
                from_text(json.dumps(plain))
            holder[key] = kept


def test_a_text_that_breaks_off_anywhere_is_no_baseline() -> None:
    text = to_text({"net": lenet5()})
    for end in range(0, len(text.rstrip()), 97):
        with pytest.raises(BadSpec, match="this is no baseline"):
            from_text(text[:end])


@pytest.mark.parametrize("schema", [0, 2, "1", None, True, 1.5, 10**30])
def test_another_schema_is_refused(schema: object) -> None:
    plain = {**json.loads(to_text({"net": lenet5()})), "schema": schema}
    with pytest.raises(
        BadSpec, match=r"^\$\.schema: the baseline has schema .*; this version reads schema 1; restore it"
    ):
        from_text(json.dumps(plain))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "it has no schema"),
        ('{"models": {}}', "it has no schema"),
        ('{"schema": 1}', r"^\$: lacks 'models'; this is no baseline"),
        ('{"schema": 1, "models": []}', r"^\$\.models: must be an object"),
        ('{"schema": 1, "models": {"a": {}, "a": {}}}', r"has the key 'a' twice"),
        ("<<<<<<< HEAD\n{}", "this is no baseline: no JSON in line 1, column 1"),
        ("[" * 100_000, "nested too deep"),
        (b"\xff\xfe", "this is no baseline"),
    ],
    ids=range(8),
)
def test_what_is_no_baseline(text: str | bytes, words: str) -> None:
    with pytest.raises(BadSpec, match=words):
        from_text(text)


def test_a_figure_is_there_once() -> None:
    plain = json.loads(to_text({"net": lenet5()}))
    figures = plain["models"]["net"]["figures"]
    figures.append(figures[2])
    with pytest.raises(BadSpec, match=rf"^\$\.models\.net\.figures\[{len(figures) - 1}\]: .* is there twice"):
        from_text(json.dumps(plain))


def test_a_file_that_is_not_there_has_no_models_and_one_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    assert read_baseline(tmp_path / "none.json") == {}
    with pytest.raises(BadSpec, match="this is a folder"):
        read_baseline(tmp_path)
    path = tmp_path / "baseline.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(BadSpec) as caught:
        read_baseline(path)
    assert caught.value.where == str(path)
    assert "restore it, or remove it and run" in caught.value.hint
    path.write_text('{"schema": 7}', encoding="utf-8")
    with pytest.raises(BadSpec) as caught:
        read_baseline(path)
    assert caught.value.where == f"{path}: $.schema"
    path.write_text(to_text({"net": lenet5()}), encoding="utf-8")
    assert read_baseline(path) == {"net": lenet5()}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "baseline.json")
    with pytest.raises(BadSpec, match="the baseline is no regular file"):
        read_baseline(tmp_path / "baseline.json")


def test_an_empty_baseline_has_no_models() -> None:
    assert from_text(to_text({})) == {}


def test_every_figure_of_a_layer_stands_under_its_own_name() -> None:
    made = node("a", weights=7, macs=11, output=(1, 3, 5))._replace(nonzero_weights=5, weight_bytes=13)
    (kept,) = json.loads(to_text({"net": baseline_of(report([made]), "net.onnx")}))["models"].values()
    (layer,) = layers_of([made])
    figures = layer.figures._asdict()
    assert len(set(figures.values())) == len(figures)
    assert kept["layers"] == [{"name": "a", **figures, "output": [1, 3, 5]}]


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(to_text({}), encoding="utf-8")
    monkeypatch.setattr("weighbridge.budgets.baseline._MOST_BYTES", path.stat().st_size - 1)
    with pytest.raises(BadSpec, match="this is too large for a baseline"):
        read_baseline(path)
    monkeypatch.setattr("weighbridge.budgets.baseline._MOST_BYTES", path.stat().st_size)
    assert read_baseline(path) == {}
