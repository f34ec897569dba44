"""What simulators ask of a network piece by piece is what a whole report says of it."""

from __future__ import annotations

import pytest

from weighbridge.api import weigh
from weighbridge.devices.device import WEIGHTS
from weighbridge.memory import ARENA, NHCWB16
from weighbridge.web.demands import kept
from weighbridge.web.networks import graph_of

NETWORKS = ("alexnet", "resnet18", "mobilenet_v2:width=0.75", "mcunet_in4", "squeezenet")
WIDTHS = (1, 7, 8, 16, 32, 64)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("bits", WIDTHS)
def test_what_is_kept_is_what_a_report_says(network: str, bits: int) -> None:
    found = kept(network, bits)
    report = weigh(graph_of(network), weight_bits=bits, activation_bits=bits, on="stm32f746")
    whole = report.memory
    assert found.parameters == report.facts.parameters
    assert found.stored_bytes == next(one.needed_bytes for one in report.on[0].fit.regions if WEIGHTS in one.holds)
    assert found.stored_exact
    assert found.names == tuple(node.name for node in report.nodes)
    plan = found.memory
    assert {"pair", "live", "held", "held_contractions"} <= set(plan.profile) | set(plan.peak_bytes)
    assert plan.peak_bytes.items() <= whole.peak_bytes.items()
    assert plan.peak_node.items() <= whole.peak_node.items()
    assert plan.peak_elements.items() <= whole.peak_elements.items()
    assert plan.profile.items() <= whole.profile.items()
    assert (plan.exact, plan.variable_bytes) == (whole.exact, whole.variable_bytes)
    assert {one.name: one[:4] for one in plan.tensors} == {one.name: one[:4] for one in whole.tensors}


def test_the_policies_of_runtimes_are_not_planned() -> None:
    whole = weigh("mobilenet_v2", weight_bits=8, activation_bits=8).memory.peak_bytes
    assert whole.keys() - kept("mobilenet_v2", 8).memory.peak_bytes.keys() == {ARENA, NHCWB16}
