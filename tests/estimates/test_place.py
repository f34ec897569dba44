"""Where a network goes on a device with several memories: never added up, the preferred one first, the least short last."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.estimates.demands import SMALL, device, figure, memory
from weighbridge.arena import PersistentBytes
from weighbridge.devices.device import Device, Memory
from weighbridge.estimates import ArenaDemand, Demand, estimate, fit, latency, node_times, placed
from weighbridge.estimates.demand import NodeDemand

FLASH = memory("flash", "weights", 1000)
SIZES = st.integers(0, 1000)


def lies(demand: Demand, board: Device) -> dict[str, str]:
    return {what: one.name for one in placed(demand, board).memories for what in one.holds}


def test_the_first_memory_that_has_room_wins() -> None:
    small, large = memory("SRAM", "activations", 299), memory("PSRAM", "activations", 5000, 10)
    assert lies(SMALL, device(FLASH, small, large)) == {"weights": "flash", "activations": "PSRAM"}
    assert lies(SMALL, device(FLASH, large, small)) == {"weights": "flash", "activations": "PSRAM"}
    enough = memory("SRAM", "activations", 300)
    assert lies(SMALL, device(FLASH, enough, large)) == {"weights": "flash", "activations": "SRAM"}


def test_memories_are_not_added_up_and_the_least_short_is_named() -> None:
    halves = [memory(f"SRAM{index}", "activations", size) for index, size in enumerate((200, 250, 150))]
    verdict = fit(SMALL, device(FLASH, *halves))
    (region,) = (one for one in verdict.regions if "activations" in one.holds)
    assert (region.name, region.short_bytes, region.verdict) == ("SRAM1", 50, "does not fit")
    assert verdict.verdict == "does not fit"
    assert verdict.notes == ("the activations are placed in SRAM1: SRAM0 is 100 B too small for them",)


def test_a_memory_with_gaps_counts_as_its_largest_block() -> None:
    gaps = replace(memory("SRAM", "activations", 1000, reserved=500), largest_block_bytes=figure(299))
    (region,) = (one for one in fit(SMALL, device(FLASH, gaps)).regions if "activations" in one.holds)
    assert (region.available_bytes, region.short_bytes) == (299, 1)
    assert (region.bytes, region.reserved_bytes, region.largest_block_bytes) == (1000, 500, 299)
    gaps = replace(gaps, largest_block_bytes=figure(600))
    (region,) = (one for one in fit(SMALL, device(FLASH, gaps)).regions if "activations" in one.holds)
    assert (region.available_bytes, region.verdict) == (500, "fits")


def test_what_shares_a_memory_leaves_room_for_each_other() -> None:
    """600 B of weights and 300 B of activations: both prefer SRAM, and only one of them can lie there."""
    sram = memory("SRAM", "weights activations", 700)
    assert lies(SMALL, device(sram, FLASH)) == {"activations": "SRAM", "weights": "flash"}
    psram = memory("PSRAM", "activations", 400)
    assert lies(SMALL, device(sram, psram)) == {"activations": "PSRAM", "weights": "SRAM"}
    verdict = fit(SMALL, device(sram, psram))
    assert verdict.verdict == "fits"
    assert verdict.notes == ("the activations are placed in PSRAM: SRAM has no certain room for them",)
    assert lies(SMALL, device(memory("SRAM", "weights activations", 900), FLASH)) == {
        "activations": "SRAM",
        "weights": "SRAM",
    }


@given(
    stored=SIZES,
    peak=SIZES,
    memories=st.lists(st.tuples(st.sampled_from(["weights", "activations", "weights activations"]), SIZES), max_size=4),
)
def test_it_fits_where_any_way_to_place_it_does(stored: int, peak: int, memories: list[tuple[str, int]]) -> None:
    demand = SMALL._replace(stored_bytes=stored, peak_bytes=peak)
    board = device(*(memory(f"m{index}", holds, size + 1) for index, (holds, size) in enumerate(memories)))
    sizes = {"weights": stored, "activations": peak}
    ways, shortest = [], math.inf
    for places in product(*(board.memories_for(what) for what in sizes)):
        taken: dict[Memory, int] = {}
        for what, place in zip(sizes, places, strict=True):
            taken[place] = taken.get(place, 0) + sizes[what]
        shortest = min(shortest, sum(max(0, size - place.bytes.value) for place, size in taken.items()))
        ways.append(all(size <= place.bytes.value for place, size in taken.items()))
    found = fit(demand, board)
    if not ways:
        assert found.verdict in ("unknown", "does not fit")
        return
    assert found.verdict == ("fits" if any(ways) else "does not fit")
    assert sum(region.short_bytes or 0 for region in found.regions) == shortest
    assert placed(demand, placed(demand, board)) == placed(demand, board)


def test_time_is_that_of_the_memories_that_it_lies_in() -> None:
    """750 B in SRAM and flash take 0.1 s; with the activations' 150 B through PSRAM at 10 B a second, 15 s."""
    node = NodeDemand("conv1", 4000, "int8", stored_bytes=600, running_bytes=300, exact=True)
    demand = SMALL._replace(nodes=(node,))
    flash = memory("flash", "weights", 1000, 6000)
    near = device(flash, memory("SRAM", "activations", 300, 6000), memory("PSRAM", "activations", 5000, 10), int8=10**9)
    far = device(flash, memory("SRAM", "activations", 299, 6000), memory("PSRAM", "activations", 5000, 10), int8=10**9)
    assert estimate(demand, near).latency.memory_s == 0.1
    found = estimate(demand, far)
    assert (found.latency.memory_s, found.latency.floor_s, found.latency.layerwise_s) == (15.0, 15.0, 30.0)
    assert found.nodes[0].memory_s == 30.0
    assert [(one.name, one.bandwidth_bytes_per_s) for one in found.fit.regions] == [("flash", 6000), ("PSRAM", 10)]
    assert found.fit.notes[0] in found.notes
    assert latency(demand, placed(demand, far), "int8").memory_s == 15.0
    assert node_times(demand, placed(demand, far))[0].time_s == 30.0


def test_weights_outside_the_chip_cost_its_bandwidth() -> None:
    inside, outside = memory("flash", "weights", 599, 10**6), memory("external flash", "weights", 5000, 60)
    found = estimate(SMALL, device(inside, outside, memory("SRAM", "activations", 300, 10**6), int8=10**9))
    assert (found.latency.memory_s, found.latency.bound) == (10.0, "memory")
    assert found.notes[0] == "the weights are placed in external flash: flash is 1 B too small for them"


def planned(peak: int | None, *persistent: PersistentBytes, variable: int | None = 0, reason: str = "") -> Demand:
    """A file whose runtime plans an arena of this size; 300 B are alive at most."""
    return SMALL._replace(arena=ArenaDemand(peak, "pad", variable, persistent, reason))


def kept(kernel_bytes: int | None, library: str = "reference", pointer_bytes: int = 4) -> PersistentBytes:
    return PersistentBytes(library, pointer_bytes, 20, kernel_bytes, "measured on one board")


def on(available: int, **changes: object) -> Device:
    board = device(FLASH, memory("SRAM", "activations", available))
    return replace(board, **{"kind": "mcu", **changes})


def test_an_arena_decides_and_not_what_is_alive_at_once() -> None:
    """The network of the source material: 73,728 B planned, on 64 KiB and on 64 kB."""
    for available, short in ((65_536, 8_192), (64_000, 9_728)):
        verdict = fit(planned(73_728, kept(100)), on(available))
        (region,) = (one for one in verdict.regions if "activations" in one.holds)
        assert (verdict.verdict, region.needed_bytes, region.short_bytes) == ("does not fit", 73_728, short)
        assert (region.policy, region.peak_node, region.estimated_bytes) == ("arena_tflm", "pad", 120)


@pytest.mark.parametrize(
    ("changes", "policy"),
    [
        ({"kind": "mcu"}, "arena_tflm"),
        ({"kind": "npu"}, "arena_tflm"),
        ({"kind": "other"}, "arena_tflm"),
        ({"kind": "server", "class_": "microcontroller"}, "arena_tflm"),
        ({"kind": "board"}, "live"),
        ({"kind": "server"}, "live"),
    ],
)
def test_only_devices_with_such_a_runtime_have_an_arena(changes: dict[str, str], policy: str) -> None:
    for demand, expected in ((planned(400, kept(1)), policy), (SMALL, "live")):
        region = fit(demand, on(1000, **changes)).regions[1]
        assert region.policy == expected
        assert region.needed_bytes == (400 if expected == "arena_tflm" else 300)
        assert ("persistent" in region.holds) == (expected == "arena_tflm")


def test_an_estimate_decides_nothing_but_a_doubt() -> None:
    """400 B are planned; 20 B of structures and 80 B of kernels are estimated beside them."""
    demand = planned(400, kept(80))
    verdicts = {size: fit(demand, on(size)) for size in (399, 400, 499, 500)}
    assert [one.verdict for one in verdicts.values()] == ["does not fit", "unknown", "unknown", "fits"]
    for size, short in ((399, 1), (400, None), (499, None), (500, 0)):
        region = verdicts[size].regions[1]
        assert (region.needed_bytes, region.estimated_bytes, region.short_bytes) == (400, 100, short)
        assert region.exact
    (doubt,) = (note for note in verdicts[499].notes if "unknown" in note)
    assert "400 B that are certain do" in doubt
    assert "500 B with the estimate do not: 1 B too much" in doubt
    assert not any("unknown" in note for note in verdicts[500].notes)


def test_variables_live_beside_the_peak_where_there_is_no_plan() -> None:
    peak = SMALL.peak_bytes or 0
    found = fit(SMALL._replace(variable_bytes=64), on(1000)).regions[1]
    assert (found.needed_bytes, [need.variable_bytes for need in found.contents]) == (peak + 64, [64])
    assert fit(SMALL._replace(variable_bytes=64), on(peak + 63)).verdict == "does not fit"
    assert fit(SMALL._replace(variable_bytes=64), on(peak + 64)).verdict == "fits"
    assert fit(SMALL._replace(variable_bytes=None), on(peak + 64)).verdict == "unknown"
    # Nor where a plan cannot be made: the peak is the least then.
    unplanned = planned(None, kept(0), reason="why not")._replace(variable_bytes=64)
    assert fit(unplanned, on(peak + 63)).verdict == "does not fit"


def test_variable_tensors_live_beside_the_plan() -> None:
    region = fit(planned(400, kept(0), variable=64), on(1000)).regions[1]
    assert region.needed_bytes == 464
    assert [(need.content, need.bytes, need.variable_bytes) for need in region.contents] == [
        ("activations", 464, 64),
        ("persistent", 20, None),
    ]
    assert fit(planned(400, kept(0), variable=None), on(1000)).verdict == "unknown"
    assert fit(planned(400, kept(0), variable=None), on(399)).verdict == "does not fit"


def test_the_estimate_is_that_of_the_device_s_kernels() -> None:
    demand = planned(400, kept(10), kept(20, "CMSIS-NN"), kept(30, "ESP-NN"), kept(99, "ESP-NN", 8))
    found = {
        library: fit(demand, on(1000, kernel_library=library)).regions[1].estimated_bytes
        for library in ("cmsis-nn", "esp-nn", "reference", "")
    }
    assert found == {"cmsis-nn": 40, "esp-nn": 50, "reference": 30, "": 30}
    notes = fit(demand, on(1000, kernel_library="esp-nn")).notes
    assert (
        "SRAM: 50 B of the runtime's own data are an estimate (ESP-NN kernels, 4-byte pointers: measured on one board)"
        in notes
    )


@pytest.mark.parametrize("persistent", [(), (kept(None),), (kept(5, "esp-nn"),), (kept(5, pointer_bytes=8),)])
def test_without_an_estimate_nothing_is_known_to_fit(persistent: tuple[PersistentBytes, ...]) -> None:
    verdict = fit(planned(400, *persistent), on(10**6))
    assert verdict.verdict == "unknown"
    assert verdict.regions[1].estimated_bytes is None
    assert any("how much the runtime keeps for itself is not known" in note for note in verdict.notes)
    assert fit(planned(400, *persistent), on(399)).verdict == "does not fit"


def test_an_arena_that_is_not_planned_is_at_least_what_is_alive() -> None:
    demand = planned(None, kept(0), reason="a custom operator")
    verdict = fit(demand, on(10**6))
    region = verdict.regions[1]
    assert (verdict.verdict, region.needed_bytes, region.exact, region.policy) == ("unknown", 300, False, "live")
    assert any("the arena is not planned (a custom operator)" in note for note in verdict.notes)
    short = fit(demand, on(299)).regions[1]
    assert (short.verdict, short.short_bytes, short.exact) == ("does not fit", 1, False)


def test_a_runtime_s_data_can_have_a_memory_of_their_own() -> None:
    apart = (memory("SRAM", "activations", 400), memory("DTCM", "persistent", 100))
    board = replace(device(FLASH, *apart), kind="mcu")
    verdict = fit(planned(400, kept(80)), board)
    _, sram, dtcm = verdict.regions
    assert (verdict.verdict, sram.holds, sram.estimated_bytes) == ("fits", ("activations",), None)
    assert (dtcm.holds, dtcm.needed_bytes, dtcm.estimated_bytes, dtcm.ratio) == (("persistent",), None, 100, 1.0)
    verdict = fit(planned(400, kept(81)), board)
    assert (verdict.verdict, verdict.regions[2].verdict, verdict.regions[2].short_bytes) == ("unknown", "unknown", None)
    either = (memory("SRAM", "activations persistent", 400), memory("DTCM", "persistent", 200))
    assert lies(planned(400, kept(81)), replace(board, memories=(FLASH, *either)))["persistent"] == "DTCM"
    assert lies(planned(200, kept(81)), replace(board, memories=(FLASH, *either)))["persistent"] == "SRAM"


def test_a_place_where_all_is_certain_is_taken_before_one_of_doubt() -> None:
    board = replace(device(FLASH, memory("SRAM", "activations", 450), memory("PSRAM", "activations", 9000)), kind="mcu")
    assert lies(planned(400, kept(80)), board)["activations"] == "PSRAM"
    assert lies(planned(350, kept(80)), board)["activations"] == "SRAM"


def test_code_is_said_to_be_left_out_until_bytes_are_kept_for_it() -> None:
    assert fit(SMALL, on(1000)).regions[0].uncounted == ("code",)
    assert fit(SMALL, on(1000, kind="server")).regions[0].uncounted == ()
    kept_back = memory("flash", "weights", 1000, reserved=300)
    assert fit(SMALL, replace(on(1000), memories=(kept_back, *on(1000).memories[1:]))).regions[0].uncounted == ()
    memories = (memory("flash", "code weights", 599), memory("external flash", "weights", 5000), on(1000).memories[1])
    verdict = fit(SMALL, replace(on(1000), memories=memories))
    assert not any(region.uncounted for region in verdict.regions)
    assert "code is not counted: nothing is reserved for it in flash" in verdict.notes


def test_many_memories_take_no_time() -> None:
    """The most that a file can list, each holding all, all too small: 262,144 ways, and the largest three are found."""
    memories = [memory(f"m{size}", "weights activations persistent", size + 1) for size in range(64)]
    board = replace(device(*memories), kind="mcu")
    assert lies(planned(400, kept(80)), board) == {"activations": "m62", "weights": "m63", "persistent": "m0"}
