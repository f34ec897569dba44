"""Two measurements under different conditions are told apart, condition by condition."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from weighbridge.measure.conditions import NAMES, Accelerator, Conditions, Hardware, InputShape, differences

HARDWARE = Hardware("Xeon", "x86_64", 2, 4, 1 << 30, "Linux 6", True)
INPUT = InputShape("x", (1, 3), "float32", "normal numbers")
THESE = Conditions(HARDWARE, "onnxruntime", "1.32", "CPUExecutionProvider", "float32", 1, (INPUT,), 1)


def test_the_same_conditions_do_not_differ() -> None:
    assert differences(THESE, THESE._replace(libraries=MappingProxyType({}))) == ()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"threads": 2}, "threads: 1 and 2"),
        ({"batch": None}, "batch: 1 and unknown"),
        ({"precision": "int8"}, "precision: float32 and int8"),
        ({"pinned": (0, 1)}, "processors that the threads are held to: none and 0, 1"),
        ({"governor": "powersave"}, "governor of the frequency: unknown and powersave"),
        ({"libraries": {"b": "2", "a": "1"}}, "versions of libraries: none and a 1, b 2"),
        ({"inputs": (INPUT._replace(shape=(4, 3)),)}, "shapes of the inputs: 1x3 float32 and 4x3 float32"),
        ({"hardware": HARDWARE._replace(virtual=False)}, "virtual machine: True and False"),
        ({"hardware": HARDWARE._replace(accelerator=Accelerator("H200"))}, "accelerator: unknown and H200"),
    ],
)
def test_each_condition_that_differs_is_named_with_both_values(changed: dict[str, Any], said: str) -> None:
    (found,) = differences(THESE, THESE._replace(**changed))
    assert str(found) == said


def test_what_an_input_is_called_and_filled_with_is_no_condition() -> None:
    assert differences(THESE, THESE._replace(inputs=(InputShape("y", (1, 3), "float32", "ones"),))) == ()


def test_every_field_of_the_record_is_a_condition() -> None:
    """One that is added is compared, or a dirty comparison passes."""
    fields = {*Conditions._fields, *(f"hardware.{one}" for one in Hardware._fields)} - {"hardware"}
    assert fields == set(NAMES)
