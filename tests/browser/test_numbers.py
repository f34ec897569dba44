"""Each number that a page shows is that of the report's JSON: the page is read cell by cell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.figures import says
from tests.browser.opened import Opened
from tests.browser.reports import REAL, saved

Json = Mapping[str, Any]

TWO_DIGITS = 0.05
"""So far off is a number of two digits at most, relative."""

pytestmark = pytest.mark.parametrize("name", REAL)


def reports(name: str) -> list[Json]:
    made = [report.to_dict() for report in saved(name).reports.values()]
    assert made
    return made


def tables(one: Opened, where: str) -> list[Json]:
    found: list[Json] = one.ask("(where) => probe.tables(where)", where)
    return found


def faults(said: Iterator[tuple[str, str, float | None, str]]) -> list[str]:
    """What does not agree, of (what it is, cell, number of the JSON, unit); there must be something to compare."""
    checked = list(said)
    assert checked
    return [f"{what}: {cell!r} is not {value}" for what, cell, value, unit in checked if not says(cell, value, unit)]


def test_rows_of_the_tree(opened: Open, name: str) -> None:
    found = tables(opened(name), "#layers")
    said = []
    for table, report in zip(found, reports(name), strict=True):
        alive = report["memory"]["profile"].get("live")
        shown = {row["key"].partition(":")[2]: row["cells"] for row in table["rows"] if row["key"]}
        assert len(shown) == len(report["nodes"])
        for place, node in enumerate(report["nodes"]):
            cells = shown[str(place)]
            for column, value, unit in (
                (3, node["parameters"], ""),
                (4, node["macs"], ""),
                (5, alive[place] if alive else None, "B"),
            ):
                is_hidden = column == 4 and not node["exact"] and not value
                said.append((node["name"], cells[column], None if is_hidden else value, unit))
    assert faults(iter(said)) == []


def test_modules_hold_the_sum_of_what_is_in_them_and_the_last_row_is_the_whole(opened: Open, name: str) -> None:
    said = []
    for table, report in zip(tables(opened(name), "#layers"), reports(name), strict=True):
        nodes, rows = report["nodes"], table["rows"]
        for start, row in enumerate(rows):
            if row["key"]:
                continue
            inside = []
            for below in rows[start + 1 :]:
                if below["depth"] <= row["depth"]:
                    break
                inside += [nodes[int(below["key"].partition(":")[2])]] if below["key"] else []
            for column, key in ((3, "parameters"), (4, "macs")):
                total = sum(node[key] or 0 for node in inside)
                is_hidden = key == "macs" and not total and not all(node["exact"] for node in inside)
                said.append((row["cells"][0], row["cells"][column], None if is_hidden else total, ""))
        facts, peak = report["facts"], report["memory"]["peak_bytes"]["live"]
        whole = [(3, facts["deployed_parameters"], ""), (4, facts["macs"], "")]
        said += [("total", table["foot"][column], value, unit) for column, value, unit in whole]
        if peak is not None:
            said.append(("total", table["foot"][5], peak, "B"))
    assert faults(iter(said)) == []


HEADLINES = {
    "parameters": ("parameters", ""),
    "deployed params": ("deployed_parameters", ""),
    "model size": ("parameter_bytes", "B"),
    "deployed size": ("deployed_bytes", "B"),
    "MACs": ("macs", ""),
    "FLOPs = OPs": ("flops", ""),
}


def headline(report: Json, label: str) -> tuple[float | None, str] | None:
    """The number of the JSON behind a label of the page."""
    if label in HEADLINES:
        key, unit = HEADLINES[label]
        return report["facts"][key], unit
    if label == "activations":
        return report["facts"]["activations"]["total"], ""
    if label == "peak memory (live)":
        return report["memory"]["peak_bytes"]["live"], "B"
    kind, _, of = label.partition(", ")
    by_device = {on["device"]: on for on in report["on"]}
    if kind == "latency floor":
        return by_device[of]["latency"]["floor_s"], "s"
    if kind == "throughput at most":
        on = by_device[of]
        points = {point["batch"]: point["per_s"] for point in (on["throughput"] or {}).get("by_batch", ())}
        return points.get(on["conditions"]["batch"]), "/s"
    if kind == "energy" and of in by_device:
        return by_device[of]["energy"]["total_j"], "J"
    if kind == "energy":
        levels = {level["level"]: level["total_j"] for level in report["energy"]["levels"]}
        return levels[of], "J"
    return None


def expected(report: Json, label: str, cell: str) -> Iterator[tuple[str, float | None, str]]:
    """What is expected with a library of kernels, and both ends of its range: each text, the number of the JSON, its unit."""
    kind, device, kernels = label.removeprefix("expected ").split(", ", 2)
    (on,) = (one for one in report["on"] if one["device"] == device)
    (found,) = (one for one in on["expected"] if one["kernels"] == kernels)
    of, unit = {"time": ("s", "s"), "energy": ("energy_j", "J")}[kind]
    keys = ("time_s", "least_s", "most_s") if of == "s" else (of, f"least_{of}", f"most_{of}")
    for line in cell.split("\n"):
        shown = re.fullmatch(r"(.+?) \((.+) to (.+)\)", line)
        assert shown is not None, line
        yield from ((text, found[key], unit) for text, key in zip(shown.groups(), keys, strict=True))


def test_headlines_with_their_conventions(opened: Open, name: str) -> None:
    lists = opened(name).ask(
        """() => [...document.querySelectorAll("#conventions dl")].map(list =>
          [...list.querySelectorAll("div")].map(one => [one.querySelector("dt").textContent, one.querySelector("dd b")?.textContent]))"""
    )
    said = []
    for shown, report in zip(lists, reports(name), strict=True):
        figures = [(label, text, headline(report, label)) for label, text in shown]
        said += [(label, text, *found) for label, text, found in figures if found]
        assert len(said) >= 5
    assert faults(iter(said)) == []


def test_the_triangle(opened: Open, name: str) -> None:
    made, said = reports(name), []
    for table in tables(opened(name), "#triangle"):
        for row in table["rows"]:
            label, *cells = row["cells"]
            for cell, report in zip(cells, made, strict=True):
                if cell == "not asked for":
                    continue
                if label.startswith("expected "):
                    assert all(says(*one, rounded=TWO_DIGITS) for one in expected(report, label, cell)), (label, cell)
                    continue
                found = headline(report, label)
                assert found is not None, label
                said += [(label, line, *found) for line in cell.split("\n")]
    assert faults(iter(said)) == []


def test_peaks_by_policy(opened: Open, name: str) -> None:
    found = [table for table in tables(opened(name), "#memory") if table["caption"] == "peak memory by policy"]
    said = []
    for table, report in zip(found, reports(name), strict=True):
        memory = report["memory"]
        shown: dict[str, Sequence[str]] = {}
        for row in table["rows"]:
            plain, in_place, _ = row["cells"][0].partition(", in place or not")
            for policy in plain.split(", "):
                shown |= dict.fromkeys((policy, f"{policy}_in_place") if in_place else (policy,), row["cells"])
        assert shown.keys() == memory["peak_bytes"].keys() - memory["inapplicable"].keys()
        for policy, cells in shown.items():
            assert cells[4] == (memory["peak_node"][policy] or ""), policy
            said += [
                (policy, cells[1], memory["peak_bytes"][policy], ""),
                (policy, cells[2] or "?", memory["peak_bytes"][policy], "B"),
                (policy, cells[3], memory["peak_elements"][policy], ""),
            ]
    assert faults(iter(said)) == []


ARENA = {
    "arena": "bytes",
    "no reuse": "no_reuse_bytes",
    "lower bound": "lower_bound_bytes",
    "above it": "excess_bytes",
    "fragmentation": "fragmentation_bytes",
}


def test_the_arena(opened: Open, name: str) -> None:
    plans = [plan for report in reports(name) if (plan := report["memory"].get("arena"))]
    one = opened(name)
    lists = one.ask(
        """() => [...document.querySelectorAll("#memory dl")].map(list => Object.fromEntries(
          [...list.querySelectorAll("div")].map(one => [one.querySelector("dt").textContent, one.querySelector("dd").textContent])))"""
    )
    alive = [table for table in tables(one, "#memory") if table["caption"].startswith("alive at the peak")]
    for plan, figures, table in zip(plans, lists, alive, strict=True):
        assert faults((label, figures[label], plan[key], "B") for label, key in ARENA.items()) == []
        buffers = {(one["name"], f"{one['bytes']:,}", f"{one['offset']:,}") for one in plan["buffers"]}
        shown = {(cells[4], cells[1], cells[2]) for cells in (row["cells"] for row in table["rows"])}
        assert shown
        assert shown <= buffers


def device_sections(one: Opened) -> dict[str, list[Json]]:
    """By device the tables of its section, each with the words that it is unfolded by."""
    found: list[tuple[str, list[Json]]] = one.ask(
        """() => [...document.querySelectorAll("#devices > section")].map(section => [
          section.querySelector("h3").textContent,
          [...section.querySelectorAll("details")].map((one, place) => ({
            summary: one.querySelector("summary").textContent,
            ...probe.tables(`#${section.id} details`)[place],
          })),
        ])"""
    )
    return dict(found)


def sections_of(one: Opened, name: str) -> Iterator[tuple[Json, Json]]:
    """Each table of a device with the entry of the JSON that it shows."""
    titles = list(saved(name).reports)
    made = reports(name)
    for device, found in device_sections(one).items():
        for table in found:
            place = next((place for place, title in enumerate(titles) if table["summary"].endswith(f", {title}")), 0)
            yield table, next(on for on in made[place]["on"] if on["device"] == device)


def test_devices_side_by_side(opened: Open, name: str) -> None:
    made = [report for report in reports(name) if len(report["on"]) > 1]
    found = tables(opened(name), "#devices > .wide")
    said = []
    for table, report in zip(found, made, strict=True):
        for row, on in zip(table["rows"], report["on"], strict=True):
            cells, latency = dict(zip(table["heads"], row["cells"], strict=True)), on["latency"]
            assert (cells["device"], cells["verdict"]) == (on["device"], on["fit"]["verdict"])
            assert cells["bound"] == (latency["bound"] or "")
            titles = {"floor": "floor_s", "layer by layer": "layerwise_s", "compute": "compute_s", "memory": "memory_s"}
            said += [(title, cells[title], latency[key], "s") for title, key in titles.items()]
            for what in ("weights", "activations"):
                region = next(one for one in on["fit"]["regions"] if what in one["holds"])
                said.append((what, cells[what], region["ratio"], "%"))
            short = [region for region in on["fit"]["regions"] if region["short_bytes"]]
            assert [int(part.replace(",", "")) for part in re.findall(r"([\d,]+) B", cells["short by"])] == [
                region["short_bytes"] for region in short
            ]
            if on.get("deadline"):
                said.append(("frames", cells["frames missed"], on["deadline"]["frames_missed"], ""))
    assert not made or faults(iter(said)) == []


def test_layers_and_batches_of_a_device(opened: Open, name: str) -> None:
    said = []
    for table, on in sections_of(opened(name), name):
        for row in table["rows"]:
            cells = dict(zip(table["heads"], row["cells"], strict=True))
            if row["key"]:
                time = on["nodes"][int(row["key"].partition(":")[2])]
                assert (cells["layer"], cells["bound"]) == (time["name"], time["bound"] or "")
                said += [
                    ("time", cells["time"], time["time_s"], "s"),
                    ("compute", cells["compute"], time["compute_s"], "s"),
                    ("memory", cells["memory"], time["memory_s"], "s"),
                    ("ops/byte", cells["ops/byte"], time["intensity_ops_per_byte"], ""),
                ]
                continue
            point = next(one for one in on["throughput"]["by_batch"] if f"{one['batch']:,}" == cells["batch"])
            assert (cells["bound"], cells["fits"]) == (point["bound"] or "", point["verdict"])
            said += [
                ("floor", cells["latency floor"], point["latency_s"], "s"),
                ("per s", cells["per s at most"], point["per_s"], ""),
                ("layer by layer", cells["layer by layer"], point["layerwise_s"], "s"),
                ("per s so", cells["per s so at most"], point["layerwise_per_s"], ""),
            ]
    assert faults(iter(said)) == []


def test_energy_by_level(opened: Open, name: str) -> None:
    bills = [report["energy"] for report in reports(name) if report["energy"]]
    for table, bill in zip(tables(opened(name), "#energy"), bills, strict=True):
        arithmetic, *levels = table["rows"]
        said = [("arithmetic", arithmetic["cells"][1], bill["arithmetic_j"], "J")]
        for row, level in zip(levels, bill["levels"], strict=True):
            assert row["cells"][0] == f"all from {level['level']}"
            for cell, key in zip(row["cells"][1:5], ("moved_j", "weights_j", "activations_j", "total_j"), strict=True):
                said.append((key, cell, level[key], "J"))
        assert faults(iter(said)) == []


BY_LAYER = ("parameters", "macs", "output_bytes", "weight_bytes")
BY_DEVICE = {"time_s": "time_s", "intensity": "intensity_ops_per_byte", "rate": "attained_ops_per_s"}


def test_what_charts_are_drawn_from(opened: Open, name: str) -> None:
    one, made = opened(name), reports(name)
    datasets = one.ask("() => JSON.parse(document.getElementById('charts').textContent).datasets")
    checked = 0
    for title, held in datasets.items():
        found = re.fullmatch(r"(layers|latency|roofline_layers)_(\d+)(?:_(\d+))?", title)
        for cells in held["rows"] if found else ():
            row = dict(zip(held["columns"], cells, strict=True))
            place, layer = map(int, row["key"].split(":"))
            assert place == int(found[2])
            node, alive = made[place]["nodes"][layer], made[place]["memory"]["profile"].get("live")
            assert all(row[key] == node[key] for key in BY_LAYER if key in row), row
            assert "alive_bytes" not in row or row["alive_bytes"] == (alive and alive[layer]), row
            if found[3]:
                time = made[place]["on"][int(found[3])]["nodes"][layer]
                assert all(row[key] == time[of] for key, of in BY_DEVICE.items() if key in row), row
            checked += 1
    assert checked >= len(made[0]["nodes"])
    drawn = one.ask(
        """() => Object.fromEntries(probe.keyed(document.querySelector("#chart-inversion svg"))
          .map(mark => probe.datumOf(mark)).map(({ key, parameters, macs }) => [key, [parameters, macs]]))"""
    )
    for key, figures in drawn.items():
        place, layer = map(int, key.split(":"))
        node = made[place]["nodes"][layer]
        assert figures == [node["parameters"], node["macs"]]
    assert drawn
