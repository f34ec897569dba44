"""What becomes of a budget: nothing passes that may be over, nothing is over that may pass, and what is not there is told."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from sys import float_info

import pytest

from tests.budgets.made import held, reason, result
from tests.report.samples import alexnet, node, on_device, report
from weighbridge import weigh
from weighbridge.budgets.baseline import baseline_of
from weighbridge.budgets.judge import judged
from weighbridge.budgets.language import budget_of
from weighbridge.budgets.record import NOT_EXACT, OVER, PASSED, Checked, ModelBudgets
from weighbridge.budgets.weighed_on import Devices
from weighbridge.report import Report

ODD = node("odd", operator="unknown", origin="my.Op", macs=None)


def with_macs(macs: int, exact: bool) -> Report:
    """A report of so many MACs; a lower bound unless ``exact``."""
    made = report(alexnet()[:1] if exact else [*alexnet()[:1], ODD])
    return replace(made, facts=made.facts._replace(macs=macs))


def with_peak(size: int | None) -> Report:
    made = report(alexnet()[:2])
    return replace(made, memory=made.memory._replace(peak_bytes={"pair": size, "live": size}, exact=size is not None))


def may_be(value: int, exact: bool, around: Fraction) -> set[Fraction]:
    """What a number may truly be: itself, or of a lower bound anything from there on, of which what is ``around`` decides."""
    beyond = (around - 1, around, around + 1, Fraction(10**9))
    return {Fraction(value), *(one for one in beyond if one >= value and not exact)}


def passes(value: Fraction, relation: str, limit: Fraction) -> bool:
    return {"<=": value <= limit, "<": value < limit, "==": value == limit}[relation]


def expected(found: set[bool]) -> str:
    return NOT_EXACT if len(found) > 1 else PASSED if found == {True} else OVER


@pytest.mark.parametrize("relation", ["<=", "<", "=="])
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("value", [0, 99, 100, 101])
def test_a_limit_decides_where_every_value_that_may_be_true_does(value: int, exact: bool, relation: str) -> None:
    found = result(with_macs(value, exact), f"macs {relation} 100")
    assert found.status == expected(
        {passes(one, relation, Fraction(100)) for one in may_be(value, exact, Fraction(100))}
    )
    assert (found.value, found.exact) == (value, exact)
    assert found.limit == (99 if relation == "<" else 100)
    assert found.over_by == (value - found.limit if found.status == OVER else None)
    assert ("not counted: odd (my.Op): there is no rule for this operator" in found.notes) == (not exact)


@pytest.mark.parametrize("relation", ["<=", "<", "=="])
@pytest.mark.parametrize("bound", ["2 %", "0 %", "-10 %", "-100 %", "7", "-7", "0"])
def test_growth_decides_where_every_pair_that_may_be_true_does(relation: str, bound: str) -> None:
    number = Fraction(bound.split(maxsplit=1)[0])
    factor, more = (1 + number / 100, Fraction(0)) if "%" in bound else (Fraction(1), number)
    sides = itertools.product((0, 50, 90, 99, 100, 102, 103, 107), (True, False), (0, 50, 100), (True, False))
    for value, exact, base, base_exact in sides:
        found = result(with_macs(value, exact), f"macs grow {relation} {bound}", with_macs(base, base_exact))
        truths = {
            passes(one, relation, before * factor + more)
            for before in may_be(base, base_exact, (value - more) / factor if factor else Fraction(0))
            for one in may_be(value, exact, before * factor + more)
        }
        if bound == "-100 %" and not base_exact and found.status == NOT_EXACT:
            continue  # the limit is 0 whatever the baseline is, which is said once that is exact
        assert found.status == expected(truths), (value, exact, base, base_exact)
        assert found.baseline == base


def test_any_growth_from_nothing_is_over() -> None:
    assert result(with_macs(1, True), "macs grow <= 1000 %", with_macs(0, True)).status == OVER
    assert result(with_macs(0, True), "macs grow <= 0 %", with_macs(0, True)).status == PASSED


def test_large_numbers_are_compared_exactly() -> None:
    huge = 10**25
    grown = with_macs(huge + huge // 50 + 1, True)
    found = result(grown, "macs grow <= 2 %", with_macs(huge, True))
    assert (found.status, found.over_by, found.limit) == (OVER, 1, huge + huge // 50)
    assert result(with_macs(huge + 1, True), "macs <= 1e25").over_by == 1


def test_a_limit_that_no_float_holds_is_the_largest_that_one_does() -> None:
    made = weigh("lenet5", on="toy", precision="int8")
    before = replace(made, on=tuple(one._replace(latency=one.latency._replace(floor_s=1e308)) for one in made.on))
    found = result(made, "floor_s grows <= 1e99 %", before, ["toy"])
    assert (found.status, found.limit) == (PASSED, float_info.max)
    Checked("weighbridge", (held(made, ["floor_s grows <= 1e99 %"], before, ["toy"])[0],)).to_json()


@pytest.mark.parametrize("relation", ["<=", "<", "=="])
def test_what_is_unknown_decides_nothing(relation: str) -> None:
    found = result(with_peak(None), f"peak_bytes.live {relation} 100")
    assert (found.status, found.value, found.exact, found.over_by) == (NOT_EXACT, None, False, None)
    for value, base in ((None, 5), (5, None), (None, None)):
        grown = result(with_peak(value), f"peak_bytes.live grows {relation} 2 %", with_peak(base))
        assert (grown.status, grown.baseline) == (NOT_EXACT, base)


def test_a_tensor_of_unknown_size_is_named() -> None:
    made = report([node("a"), node("b", output=None)])
    found = result(made, "peak_bytes.live <= 1 GiB")
    assert (found.status, found.notes) == (NOT_EXACT, ("the size of b is not known",))


@pytest.mark.parametrize(("limit", "status"), [("0.83304 ms", PASSED), ("0.83303 ms", OVER), ("1 s", PASSED)])
def test_a_time_is_not_over_for_its_rounding(limit: str, status: str) -> None:
    """LeNet-5 on the toy device: 833,040 operations at 1 G a second, which a float does not hold exactly."""
    made = weigh("lenet5", on="toy")
    (latency,) = (on.latency for on in made.on)
    assert latency.floor_s is not None
    found = result(made, f"floor_s <= {limit} on toy", on=["toy"])
    assert (found.status, found.unit, found.value) == (status, "s", latency.floor_s)
    raised = made.on[0]._replace(latency=latency._replace(floor_s=latency.floor_s * (1 + 2**-52)))
    assert result(replace(made, on=(raised,)), "floor_s <= 0.83304 ms on toy", on=["toy"]).status == PASSED


@pytest.mark.parametrize(
    ("verdict", "status"), [("fits", PASSED), ("does not fit", OVER), ("unknown", NOT_EXACT), ("new word", NOT_EXACT)]
)
def test_a_verdict(verdict: str, status: str) -> None:
    on = on_device(needed=1_048_577) if verdict == "does not fit" else on_device(needed=5, peak=5)
    made = report(alexnet(), on=(on._replace(fit=on.fit._replace(verdict=verdict, notes=("why",))),))
    found = result(made, "fits on stm32f746", on=["stm32f746"])
    assert (found.status, found.value, found.exact, found.limit) == (status, verdict, status != NOT_EXACT, None)
    assert ("why" in found.notes) == (status == NOT_EXACT)
    if status == OVER:
        assert found.over_by == max(region.short_bytes or 0 for region in on.fit.regions)
        assert found.notes == ("flash is 1 B short", "sram is 1,436,032 B short")


def test_a_part_that_is_too_large_does_not_fit_whatever_the_rest_is() -> None:
    on = on_device(needed=1_048_577, peak=5)
    regions = tuple(region._replace(exact=region.name != "flash") for region in on.fit.regions)
    made = report(alexnet(), on=(on._replace(fit=on.fit._replace(regions=regions)),))
    found = result(made, "fits", on=["stm32f746"])
    assert (found.status, found.over_by, found.notes) == (OVER, 1, ("flash is at least 1 B short",))


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("floor_s <= 1 s", "it rests on a figure of stm32f746 that is not verified"),
        ("layerwise_s <= 1 s", "it rests on a figure of stm32f746 that is not verified"),
        ("needed_bytes.sram <= 1 B", "the size of sram is not verified"),
        ("fits", "the size of flash is not verified"),
    ],
)
def test_a_figure_of_the_device_that_nobody_checked_is_told(metric: str, said: str) -> None:
    on = on_device()
    regions = tuple(region._replace(verified=False) for region in on.fit.regions)
    for verified in (True, False):
        fit = on.fit if verified else on.fit._replace(regions=regions)
        made = report(alexnet(), on=(on._replace(fit=fit, latency=on.latency._replace(verified=verified)),))
        found = result(made, f"{metric} on stm32f746", on=["stm32f746"])
        assert (said in found.notes) == (not verified)


def test_what_lies_in_a_memory_and_is_in_no_number_is_told() -> None:
    on = on_device(needed=5, peak=5)
    regions = tuple(region._replace(estimated_bytes=7, uncounted=("code",)) for region in on.fit.regions)
    made = report(alexnet(), on=(on._replace(fit=on.fit._replace(regions=regions)),))
    needed = result(made, "needed_bytes.sram <= 9 B on stm32f746", on=["stm32f746"])
    assert needed.notes == (
        "7 B of the runtime's own data in sram are an estimate, and not in it",
        "code in sram is not counted",
    )
    verdict = result(made, "fits on stm32f746", on=["stm32f746"])
    assert (verdict.status, len(verdict.notes)) == (PASSED, 4)
    assert "7 B of the runtime's own data in flash are an estimate, which the verdict takes in" in verdict.notes


def test_a_baseline_of_another_source_is_told() -> None:
    before, after = with_macs(100, True), with_macs(100, True)
    for source, said in (("net.onnx", ()), ("other.onnx", ("the baseline is of another source: other.onnx",))):
        model = ModelBudgets("net", "net.onnx", (budget_of("macs grow <= 2 %"), budget_of("macs <= 1 k")))
        checked, _ = judged(model, after, baseline_of(before, source), Devices())
        assert [one.notes for one in checked.results] == [said, ()]


@pytest.mark.parametrize(("before", "now"), [("batch = 8", ""), ("", "batch = 8"), ("batch = 8", "batch = 1")])
def test_growth_from_a_baseline_of_another_batch_is_not_decided(before: str, now: str) -> None:
    made = with_macs(100, True)
    budgets = (budget_of("macs grow <= 2 %"), budget_of("macs <= 1 k"))
    model = ModelBudgets("net", "net.onnx", budgets, weighed_with=now)
    checked, (unchecked,) = judged(model, made, baseline_of(made, "net.onnx", before), Devices())
    assert [one.status for one in checked.results] == [PASSED]
    assert (
        f"weighed with {before or 'no option'}, and the model is weighed with {now or 'none'} now" in unchecked.reason
    )
    checked, unchecked = judged(model, made, baseline_of(made, "net.onnx", now), Devices())
    assert [one.status for one in checked.results] == [PASSED, PASSED]
    assert not unchecked


def test_a_peak_may_name_the_board_it_is_meant_for() -> None:
    made = weigh("lenet5", on=["toy", "stm32f746"])
    everywhere = result(made, "peak_bytes <= 16 KiB under live")
    for device in ("toy", "STM32F746", "stm32f746"):
        found = result(made, f"peak_bytes <= 16 KiB under live on {device}", on=["toy", "stm32f746"])
        assert found[1:] == everywhere[1:]
        assert found.budget.device is None


def test_the_only_device_needs_no_name_and_capitals_do_not_matter() -> None:
    made = weigh("lenet5", on="toy")
    for text in ("floor_s <= 1 ms", "floor_s <= 1 ms on TOY"):
        assert result(made, text, on=["toy"]).budget.device == "toy"
    board = weigh("lenet5", on="stm32f746")
    found = [result(board, f"needed_bytes.{region} <= 1 MiB", on=["stm32f746"]) for region in ("SRAM", "sram", "Sram")]
    assert {(one.budget.metric, one.value) for one in found} == {("needed_bytes.SRAM", 23_520)}


def test_a_device_of_a_file_is_named_as_in_on_or_by_its_own_name(tmp_path) -> None:
    from pathlib import Path

    from weighbridge.devices.catalogue import __file__ as catalogue

    boards = tmp_path / "boards"
    boards.mkdir()
    toy = (Path(catalogue).parent / "toy.toml").read_text(encoding="utf-8")
    (boards / "mine.toml").write_text(toy.replace('name = "toy"', 'name = "my-board"'), encoding="utf-8")
    on = [str(boards / "mine.toml"), "toy"]
    made = weigh("lenet5", on=on)
    for name in ("my-board", "My Board", "mine.toml", "boards/mine.toml", "./boards/mine.toml"):
        assert result(made, f"floor_s <= 1 ms on {name}", on=on).budget.device == "my-board"
    assert "is not weighed on 'other/mine.toml'" in reason(made, "floor_s <= 1 ms on other/mine.toml", on=on)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_name_that_several_devices_have_decides_nothing(is_first: bool, tmp_path) -> None:
    from pathlib import Path

    from weighbridge.devices.catalogue import __file__ as catalogue

    toy = (Path(catalogue).parent / "toy.toml").read_text(encoding="utf-8")
    for folder, title in (("a", "Smaller"), ("b", "Larger")):
        (tmp_path / folder).mkdir()
        changed = toy.replace("title = ", f'title = "{title}" # ').replace('name = "toy"', f'name = "{folder}"', 1)
        (tmp_path / folder / "board.toml").write_text(changed, encoding="utf-8")
    (tmp_path / "own.toml").write_text(toy.replace("title = ", 'title = "Mine" # '), encoding="utf-8")
    places = [str(tmp_path / one) for one in ("a/board.toml", "b/board.toml", "own.toml")]
    on = [*places, "toy"] if is_first else ["toy", *reversed(places)]
    made = weigh("lenet5", on=on)
    for name, meant in (("toy", "own.toml"), ("board.toml", "a/board.toml"), ("board.toml", "b/board.toml")):
        why = reason(made, f"floor_s <= 1 s on {name}", on=on)
        assert f"several devices of this model are called {name!r}" in why
        assert str(tmp_path / meant) in why
    for name, device in (("a/board.toml", "a"), ("b/board.toml", "b"), ("own.toml", "toy" if is_first else "toy (2)")):
        assert result(made, f"floor_s <= 1 s on {name}", on=on).budget.device == device
    assert result(made, "floor_s <= 1 s on toy (2)", on=on).budget.device == "toy (2)"


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (
            "peak_bytes <= 1 MiB under eager",
            "eager does not apply to this model: there is no record of a run in PyTorch",
        ),
        ("peak_bytes <= 1 MiB under nhcwb16_vela", "Vela takes integers, not floating point; there are pair, live"),
        ("peak_bytes <= 1 MiB under live on stm32f745", "not weighed on 'stm32f745'; did you mean stm32f746?"),
        ("peak_bytes <= 1 MiB under live on nothing", "it is weighed on toy, stm32f746 (else add it to on)"),
        ("floor_s <= 1 ms on h100", "this model is not weighed on 'h100'"),
        ("floor_s <= 1 ms", "floor_s is of a device, and the budget does not say which; write on toy or on stm32f746"),
        ("fits", "this is asked of a device, and the budget does not say which"),
        ("needed_bytes.SRM <= 1 kB on stm32f746", "no needed_bytes.SRM on stm32f746; did you mean needed_bytes.SRAM?"),
        ("energy_j <= 1 mJ on stm32f746", "stm32f746 has no energies, so this model has no energy_j on it"),
        ("energy.SRAM_j <= 1 mJ", 'no energy is weighed; name a table of energies: energy = "45nm"'),
        ("training.total_bytes <= 1 GB", "training is not weighed; say how it is trained"),
        ("macs grow <= 2 %", "there is none of this model; run `weighbridge check --update`"),
    ],
)
def test_what_there_is_not_is_no_pass(budget: str, words: str) -> None:
    made = weigh("lenet5", on=["toy", "stm32f746"])
    why = reason(made, budget, on=["toy", "stm32f746"])
    assert words in why
    _, unchecked = held(made, [budget, "macs <= 1 G"], on=["toy", "stm32f746"])
    assert Checked("", (), unchecked).exit_code == 2


def test_a_model_on_no_device_says_how_to_name_one() -> None:
    made = weigh("lenet5")
    assert 'name one: on = ["stm32f746"]' in reason(made, "fits")
    assert "add it: on = ['toy']" in reason(made, "fits on toy")


def test_growth_of_what_the_baseline_does_not_have_is_no_pass() -> None:
    before, after = weigh("lenet5"), weigh("lenet5", on="toy")
    assert "the baseline has no floor_s on toy of this model" in reason(after, "floor_s grows <= 2 %", before, ["toy"])
    assert result(after, "macs grow <= 0 %", before, ["toy"]).status == PASSED


def test_a_figure_of_the_baseline_in_another_unit_is_not_the_one() -> None:
    made = weigh("lenet5")
    kept = baseline_of(made, "net.onnx")
    macs = kept.figures["macs", None]._replace(unit="B")
    odd = kept._replace(figures={**kept.figures, ("macs", None): macs})
    model = ModelBudgets("net", "net.onnx", (budget_of("macs grow <= 2 %"),))
    _, (unchecked,) = judged(model, made, odd, Devices())
    assert "the baseline has no macs of this model" in unchecked.reason


def test_variables_are_known_to_be_none() -> None:
    assert result(weigh("lenet5"), "variable_bytes <= 0").status == PASSED
    made = weigh("lenet5")
    unknown = replace(made, memory=made.memory._replace(variable_bytes=None))
    assert result(unknown, "variable_bytes <= 1 GB").status == NOT_EXACT


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_what_is_no_number_is_unknown(value: float) -> None:
    made = weigh("lenet5", on="toy")
    odd = replace(made, on=(made.on[0]._replace(latency=made.on[0].latency._replace(floor_s=value)),))
    assert result(odd, "floor_s <= 1 s", on=["toy"]).status == NOT_EXACT


def test_the_exit_code_is_that_of_the_worst() -> None:
    made = with_macs(100, False)

    def code(*budgets: str) -> int:
        model, unchecked = held(made, budgets)
        return Checked("", (model,), unchecked).exit_code

    assert code("parameters <= 1 G") == 3
    assert code("macs <= 99", "macs <= 1 k") == 1
    assert code("macs <= 99", "macs <= 1 k", "macs grow <= 2 %") == 2
    exact, unchecked = held(with_macs(100, True), ["macs <= 100"])
    assert Checked("", (exact,), unchecked).exit_code == 0
