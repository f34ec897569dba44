"""``--train`` and its options: what the page shows, what the exit code says, what is refused."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from weighbridge import BadSpec, Report, weigh
from weighbridge.cli.main import main
from weighbridge.estimates import largest_batch
from weighbridge.memory.training.request import Training

LISTS = ("update", "freeze", "lora", "checkpoint")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["weigh", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    code, out, _ = run(capsys, *arguments, "--json", "-")
    assert code == 0
    found: dict[str, object] = json.loads(out)
    return found


def test_the_page_shows_parts_layers_batches_and_devices(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(
        capsys, "resnet50", "--batch", "8", "--train", "adam", "--on", "jetson-nano", "--batches", "1,8"
    )
    assert (code, err) == (0, "")
    assert "training: a step with Adam, by the rule paper" in out
    assert "712,775,168 B" in out
    assert "706,518,528 B" in out
    assert "at their peak, layer4.2.relu3" in out
    assert "training by layer: saved + parameters + gradients, in bytes" in out
    assert "training by batch" in out
    line = next(line for line in out.splitlines() if line.startswith("jetson-nano  fits"))
    assert "1,121,900,160 B" in line
    assert line.split()[-1] == "43"


def test_all_options_reach_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    options = "--train adamw --train-rule paper --mixed-precision --update last-2 --update conv5=1/4 --freeze fc8"
    found = report(capsys, "alexnet", *options.split())["memory"]
    assert isinstance(found, dict)
    plan = found["training"]
    assert (plan["optimiser"], plan["rule"], plan["mixed_precision"]) == ("adamw", "paper", True)
    assert plan["asked"] == ["update last-2", "update conv5=1/4", "freeze fc8"]
    assert plan["trained_parameters"] == 4096 * 4096 + 4096 + 256 * 48 * 9 + 256
    more = report(capsys, "resnet18", "--train", "sgd", "--lora", "fc=4", "--checkpoint", "layer1")["memory"]
    assert isinstance(more, dict)
    assert more["training"]["asked"] == ["lora fc=4", "checkpoint layer1"]


def test_a_saved_report_shows_training_as_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    made = weigh("lenet5", train="adam", batch=2, on="toy")
    again = Report.from_json(made.to_json())
    assert again.memory.training == made.memory.training
    assert again.on[0].training == made.on[0].training
    assert str(again) == str(made)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--train", "adaam"], "did you mean adam?"),
        (["--update", "biases"], "--update: this is about training; add --train"),
        (["--mixed-precision"], "--mixed-precision: this is about training"),
        (["--train-rule", "paper"], "--train-rule: this is about training"),
        (["--train", "sgd", "--update", "conv9"], "'conv9'"),
        (["--train", "sgd", "--update", "conv1=1/0"], "updates nothing"),
        (["--train", "sgd", "--update", "other"], "what is updated: 'other' stands for no parameter of this network"),
        (["--train", "sgd", "--freeze", "other"], "a frozen part: 'other' stands for no parameter of this network"),
        (["--train", "sgd", "--update", "rest"], "there are first, last, biases, other, conv1"),
        (["--train", "sgd", "--lora", "fc6"], "is no adapter"),
        (["--train", "sgd", "--checkpoint", "features"], "no module is called 'features'"),
        (["--train", "sgd", "--train-rule", "autograd"], "there is no PyTorch module"),
        (["--train", "sgd", "--attention", "math"], "there is no PyTorch module"),
        (["--train", "sgd", "--attention", "mat"], "did you mean math?"),
    ],
)
def test_what_cannot_be_is_refused(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "alexnet", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("weighbridge: error: ")
    assert err.count("\n") == 1
    assert says in err


def test_a_device_without_room_for_one_sample(capsys: pytest.CaptureFixture[str]) -> None:
    """Named by itself it was asked for: the report, a sentence, exit 2.  In a group it was not."""
    code, out, err = run(capsys, "alexnet", "--train", "sgd", "--on", "stm32f746")
    assert code == 2
    assert "no batch can be trained on stm32f746: a single sample needs more than the 327,680 B of SRAM" in err
    assert next(line for line in out.splitlines() if line.startswith("stm32f746    does not fit")).endswith("none")
    assert run(capsys, "alexnet", "--train", "sgd", "--on", "mcu")[0] == 0


def test_training_that_does_not_fit_is_no_fit(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["resnet50", "--batch", "64", "--on", "jetson-nano", "--require-fit"]
    assert run(capsys, *arguments)[0] == 0
    code, _, err = run(capsys, *arguments, "--train", "adam")
    assert code == 1
    assert "training does not fit jetson-nano" in err


def test_frozen_weights_stay_in_flash() -> None:
    found = weigh("mobilenet_v2", precision="int8", on="stm32h743", train={"update": ["last-1"], "optimiser": "sgd"})
    plan, fit = found.memory.training, found.on[0].training
    assert plan is not None
    assert fit is not None
    assert plan.total_bytes is not None
    assert plan.frozen_bytes is not None
    assert fit.needed_bytes == plan.total_bytes - plan.frozen_bytes
    assert plan.frozen_bytes > 2_000_000


def test_a_lower_bound_is_marked_and_not_exact(capsys: pytest.CaptureFixture[str]) -> None:
    made = weigh("lenet5", train="sgd")
    plan = made.memory.training
    assert plan is not None
    assert made.is_exact
    from dataclasses import replace

    unsure = replace(made, memory=made.memory._replace(training=plan._replace(exact=False)))
    assert not unsure.is_exact
    assert f">= {plan.saved_bytes:,} B" in str(unsure)
    assert f">= {plan.parameter_bytes:,} B" not in str(unsure)


ODD: tuple[object, ...] = (
    None,
    0,
    1,
    1.5,
    float("nan"),
    "x",
    b"adam",
    "",
    [],
    [None],
    {"a": 1},
    ("fc6", "x"),
    object(),
    "\ud800",
    10**30,
)
"""What may stand where it should not; "", None and nothing at all are no wish where a wish can be left out."""


@pytest.mark.parametrize("how", [5, ["adam"], {"optimizer": "adam"}, {"update": 3}, {"lora": {"fc6": 0}}])
def test_what_python_gives_is_looked_at(how: object) -> None:
    with pytest.raises(BadSpec):
        weigh("alexnet", train=how)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["optimiser", "mixed_precision", "rule", "attention", *LISTS])
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_every_part_of_the_mapping_is_looked_at(name: str, odd: object) -> None:
    """It is refused, or is no wish: the plan is that without it."""
    no_wish = (odd in (None, "") and name in ("rule", "attention")) or (odd == [] and name in LISTS)
    if no_wish:
        assert weigh("lenet5", train={name: odd}) == weigh("lenet5", train={})
    else:
        with pytest.raises(BadSpec):
            weigh("lenet5", train={name: odd})


@pytest.mark.parametrize("field", Training._fields)
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_a_record_is_looked_at_like_a_mapping(field: str, odd: object) -> None:
    given = Training(**{field: odd})  # type: ignore[arg-type]
    name = {"updates": "update", "frozen": "freeze", "adapters": "lora", "checkpoints": "checkpoint"}.get(field, field)
    try:
        expected = weigh("lenet5", train={name: odd})
    except BadSpec:
        with pytest.raises(BadSpec):
            weigh("lenet5", train=given)
    else:
        assert weigh("lenet5", train=given) == expected


def test_a_record_says_what_its_words_say() -> None:
    words = {
        "optimiser": "adam",
        "update": ["c3=1/2", "biases"],
        "freeze": "c1",
        "lora": "f6=2",
        "mixed_precision": True,
    }
    record = Training("adam", "", True, (("c3", Fraction(1, 2)), ("biases", Fraction(1))), ("c1",), (("f6", 2),))
    assert weigh("lenet5", train=record) == weigh("lenet5", train=words)
    pairs = {**words, "update": {"c3": 0.5, "biases": 1}, "lora": [("f6", 2)]}
    assert weigh("lenet5", train=pairs) == weigh("lenet5", train=words)


def test_python_takes_one_or_several() -> None:
    one = weigh("alexnet", train={"update": "last-2", "lora": {"fc6": 8}}).memory.training
    several = weigh("alexnet", train={"update": ["last-2"], "lora": ["fc6=8"]}).memory.training
    assert one == several
    assert one is not None
    assert one.optimiser == "sgd"


@pytest.mark.parametrize("fixed", [0, 10, 99])
@pytest.mark.parametrize("each", [1, 3, 7])
@pytest.mark.parametrize("available", [0, 9, 10, 11, 100, 1000])
def test_the_largest_batch_is_the_largest(fixed: int, each: int, available: int) -> None:
    """Against trying all, also where rounding up makes some samples cost a byte more."""

    def needed(batch: int) -> int:
        return fixed + each * batch + -(-batch // 8)

    largest = max((batch for batch in range(1, 2000) if needed(batch) <= available), default=0)
    assert largest_batch(needed, available) == largest


def test_few_batches_are_looked_at() -> None:
    seen = []

    def needed(batch: int) -> int:
        seen.append(batch)
        return 10**9 + 77_777_777 * batch

    found = largest_batch(needed, 10**12)
    assert found == (10**12 - 10**9) // 77_777_777
    assert len(set(seen)) < 8


def test_what_does_not_grow_has_no_largest_batch() -> None:
    assert largest_batch(lambda batch: 5, 10) is None


def test_the_largest_batch_ends_where_the_source_s_do() -> None:
    """A textbook network takes ten million samples at most; that is no reason not to know how many have room."""
    small = weigh("linear:inputs=4,outputs=1", on="jetson-agx-orin", train="sgd").on[0].training
    assert small is not None
    assert small.largest_batch == 10_000_000
    assert "which is the source's" in " ".join(small.notes)


@pytest.mark.parametrize("limit", [1, 2, 3, 64, 1000, 10**6])
def test_a_need_that_jumps_is_found_in_few_steps(limit: int) -> None:
    seen = set()

    def needed(batch: int) -> int:
        seen.add(batch)
        return batch if batch <= limit else 10**15

    assert largest_batch(needed, 10**12) == limit
    assert len(seen) < 90


def test_the_first_lines_say_whether_and_with_how_much_it_trains(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "mobilenet_v2", "--batch", "8", "--train", "adam", "--on", "jetson-nano")
    assert out.splitlines()[2] == "jetson-nano: fits (DRAM ~1.4%); training fits, batch 77 at most"
    _, out, _ = run(capsys, "mobilenet_v2", "--batch", "99", "--train", "adam", "--on", "jetson-nano")
    assert out.splitlines()[2].endswith("; training does not fit, batch 77 at most")
    _, out, _ = run(capsys, "mobilenet_v2", "--train", "adam", "--on", "stm32f746")
    assert out.splitlines()[2].endswith("; trains with no batch")
    _, out, _ = run(capsys, "mobilenet_v2", "--on", "jetson-nano")
    assert out.splitlines()[2] == "jetson-nano: fits (DRAM ~0.5%)"
