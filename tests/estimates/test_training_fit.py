"""Whether a device has room to train, where what training needs is known from below alone."""

from __future__ import annotations

from weighbridge.builder import Builder
from weighbridge.devices.catalogue import find
from weighbridge.dtypes import DTYPES
from weighbridge.estimates import largest_batch
from weighbridge.graph import UNKNOWN, TensorType
from weighbridge.memory.training.plan import plan_training
from weighbridge.memory.training.records import TrainingPlan
from weighbridge.memory.training.request import training_of
from weighbridge.training import fits

FLOAT = DTYPES["float32"]


def unsure(batch: int) -> TrainingPlan:
    """A layer of 25 values to 25, whose input is kept and beside its output in use, and an operator that nobody knows."""
    build = Builder("odd")
    x, w = build.input("x", (batch, 25), FLOAT), build.stored("w", (25, 25), FLOAT)
    build.add("linear", [("x", x), ("w", w)], outputs=["y"])
    made = build.opaque(UNKNOWN, [("x", "y")], [TensorType((batch, 25), FLOAT)], name="strange", reason="odd")
    return plan_training(build.graph(list(made)), training_of("sgd"))


def test_of_a_lower_bound_no_batch_is_said_to_fit() -> None:
    device = find("stm32f746")
    (fit,) = fits(unsure(1), [device], unsure)
    assert (fit.verdict, fit.exact, fit.largest_batch) == ("unknown", False, None)
    most = (327_680 - 2 * 2500) // 200
    note = f"the largest batch is not known, as what training needs is a lower bound: it is {most:,} at most"
    assert fit.notes == (note,)


def test_a_lower_bound_that_is_too_much_is_too_much() -> None:
    (fit,) = fits(unsure(4000), [find("stm32f746")], lambda batch: unsure(4000 * batch))
    assert (fit.verdict, fit.largest_batch) == ("does not fit", 0)


def test_what_just_fits_fits() -> None:
    assert largest_batch(lambda batch: 10 * batch, 10) == 1
    assert largest_batch(lambda batch: 10 * batch, 9) == 0
