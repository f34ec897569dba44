"""The JSON contract: every key, its types, and the way back."""

from __future__ import annotations

import json
from typing import Any

import pytest

import weighbridge
from tests.report.samples import alexnet, large, node, on_device, report
from weighbridge import BadSpec, Report

KEYS = {
    "": {"schema", "tool", "network", "facts", "memory", "nodes", "on", "notes"},
    "network": {"name", "source", "format", "inputs", "capture"},
    "network.inputs": {"name", "shape", "dtype"},
    "facts": {
        *(
            "parameters",
            "weights",
            "biases",
            "other_parameters",
            "deployed_parameters",
            "parameter_bytes",
            "weight_bytes",
        ),
        *("constant_bytes", "macs", "flops", "ops", "work", "activations", "conventions", "exact", "uncounted"),
    },
    "facts.work": {"macs", "add", "mul", "div", "compare", "special"},
    "facts.activations": {"total", "total_bytes", "peak"},
    "facts.activations.peak": {"pair", "live"},
    "facts.uncounted": {"node", "operator", "reason"},
    "memory": {
        "peak_bytes",
        "peak_node",
        "profile",
        "tensors",
        "variable_bytes",
        "persistent_bytes",
        "exact",
        "training",
        "inapplicable",
    },
    "memory.peak_bytes": {"pair", "live"},
    "memory.peak_node": {"pair", "live"},
    "memory.profile": {"pair", "live"},
    "memory.tensors": {"name", "bytes", "first", "last", "offset"},
    "nodes": {
        *(
            "name",
            "scope",
            "module_call",
            "operator",
            "origin",
            "parameters",
            "weights",
            "macs",
            "flops",
            "work",
            "output",
        ),
        *("output_bytes", "read_bytes", "write_bytes", "exact"),
    },
    "on": {"device", "conditions", "fit", "latency", "nodes", "throughput", "energy"},
    "on.conditions": {"hardware", "runtime", "precision", "batch"},
    "on.fit": {"verdict", "regions"},
    "on.fit.regions": {"name", "needed_bytes", "available_bytes", "short_bytes"},
    "on.latency": {"floor_s", "layerwise_s", "compute_s", "memory_s", "bound"},
}


def at(data: Any, path: str) -> Any:
    for key in path.split(".") if path else ():
        data = (data[0] if isinstance(data, list) else data)[key]
    return data[0] if isinstance(data, list) else data


@pytest.fixture(scope="module")
def saved() -> dict[str, Any]:
    """What the command would print for a network with a node that has no rule, on two devices."""
    nodes = [*alexnet(), node("odd", operator="unknown", origin="my.Op", macs=None)]
    return json.loads(report(nodes, on=(on_device(),)).to_json())


@pytest.mark.parametrize("path", KEYS)
def test_every_key_of_the_contract_is_there(saved: dict[str, Any], path: str) -> None:
    assert at(saved, path).keys() >= KEYS[path]


@pytest.mark.parametrize("path", [path for path in KEYS if path != "facts.uncounted"])
def test_a_real_network_has_the_same_keys(path: str) -> None:
    assert at(json.loads(weighbridge.weigh("alexnet", on="toy").to_json()), path).keys() >= KEYS[path]


def test_values() -> None:
    data = json.loads(weighbridge.weigh("alexnet", on=["stm32f746", "toy"]).to_json())
    assert data["schema"] == 1
    assert data["tool"] == f"weighbridge {weighbridge.__version__}"
    assert data["network"]["inputs"] == [{"name": "image", "shape": [1, 3, 224, 224], "dtype": "float32"}]
    assert data["facts"]["macs"] == 724_406_816
    assert data["facts"]["flops"] == data["facts"]["ops"] == 2 * data["facts"]["macs"]
    peaks = data["facts"]["activations"]["peak"]
    assert set(peaks) == set(data["memory"]["peak_bytes"]) == set(data["memory"]["peak_node"])
    assert (peaks["pair"], peaks["live"]) == (440_928, 440_928)
    assert data["memory"]["peak_node"]["live"] == "conv1"
    assert data["facts"]["conventions"] == {}
    assert [on["device"] for on in data["on"]] == ["stm32f746", "toy"]
    assert [len(data["memory"]["profile"]["live"])] == [len(data["nodes"])]
    parts = ("weights", "biases", "other_parameters")
    assert data["facts"]["parameters"] == sum(data["facts"][part] for part in parts)


def test_what_is_not_known_or_was_not_asked_for_is_null() -> None:
    data = json.loads(weighbridge.weigh("alexnet", on=["a100", "stm32f746"]).to_json())
    a100, board = data["on"]
    assert a100["energy"] is a100["deadline"] is data["energy"] is None
    assert [point["per_s"] for point in board["throughput"]["by_batch"]] == [None]
    assert board["latency"]["layerwise_s"] is board["nodes"][0]["compute_s"] is None


def test_profiles_of_all_policies_and_lifetimes_are_there_node_by_node() -> None:
    data = json.loads(weighbridge.weigh("mobilenet_v2", precision="int8").to_json())
    memory, places = data["memory"], range(len(data["nodes"]))
    plain = ["pair", "live", "held"]
    of_runtimes = {"arena_tflm", "nhcwb16_vela"}
    assert set(memory["profile"]) == {*plain, *(f"{policy}_in_place" for policy in plain), *of_runtimes}
    for policy, profile in memory["profile"].items():
        assert len(profile) == len(places)
        node = data["nodes"][profile.index(memory["peak_bytes"][policy])]
        assert node["name"] == memory["peak_node"][policy]
    assert list(memory["inapplicable"]) == ["eager"]
    alive = [sum(one["bytes"] for one in memory["tensors"] if one["first"] <= at <= one["last"]) for at in places]
    assert alive == memory["profile"]["live"]


@pytest.mark.parametrize("source", ["alexnet", "mobilenet_v2", "lenet5"])
def test_a_saved_report_is_the_report(source: str) -> None:
    weighed = weighbridge.weigh(source, on=["toy", "a100"], precision="int8")
    assert Report.from_json(weighed.to_json()) == weighed
    assert Report.from_dict(weighed.to_dict()) == weighed


def test_the_way_back_keeps_what_is_unknown() -> None:
    unknown = report([node("odd", macs=None, output=None), node("fc", weights=3)], on=(on_device(),), notes=("a", "b"))
    assert Report.from_json(unknown.to_json()) == unknown


def test_a_saved_report_shows_the_same_page() -> None:
    weighed = weighbridge.weigh("alexnet", on="toy")
    assert str(Report.from_json(weighed.to_json())) == str(weighed)


def test_ints_stay_exact_beyond_what_a_float_holds() -> None:
    macs = 2**90 + 1
    huge = report([node("huge", weights=2**70 + 1, macs=macs)])
    assert f'"macs": {macs},' in huge.to_json()
    assert Report.from_json(huge.to_json()).facts.macs == macs


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_null_with_a_note(value: float) -> None:
    on = on_device()
    odd = report(alexnet(), on=(on._replace(latency=on.latency._replace(floor_s=value)),))
    data = json.loads(odd.to_json(), parse_constant=pytest.fail)
    assert data["on"][0]["latency"]["floor_s"] is None
    assert "a number that is not finite is null" in data["notes"]


def test_text_is_ascii_whatever_the_names_are() -> None:
    odd = report([node("caf\u00e9 \u202e \ud800 \n \x1b[31m")])
    assert odd.to_json().isascii()
    assert Report.from_json(odd.to_json()).nodes[0].name == odd.nodes[0].name


def test_keys_of_a_later_version_do_no_harm() -> None:
    weighed = weighbridge.weigh("lenet5")
    data = weighed.to_dict()
    data["later"] = 1
    data["facts"]["later"] = {"x": 2}  # type: ignore[index]
    assert Report.from_dict(data) == weighed


def test_a_report_that_was_saved_before_a_node_had_bytes_of_weights_does_not_know_them() -> None:
    weighed = weighbridge.weigh("lenet5")
    data = weighed.to_dict()
    for item in data["nodes"]:  # type: ignore[attr-defined]
        del item["weight_bytes"]
    assert [item.weight_bytes for item in Report.from_dict(data).nodes] == [None] * len(weighed.nodes)


def without(data: dict[str, Any], path: str) -> dict[str, Any]:
    changed = json.loads(json.dumps(data))
    *parents, last = path.split(".")
    target = changed
    for key in parents:
        target = target[int(key)] if isinstance(target, list) else target[key]
    del target[last]
    return changed


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("facts.macs", "$.facts"),
        ("nodes.3.scope", "$.nodes[3]"),
        ("memory.peak_bytes", "$.memory"),
        ("on.0.fit.regions.1.name", "$.on[0].fit.regions[1]"),
        ("notes", "$"),
        ("schema", "$"),
    ],
)
def test_a_missing_key_is_named_with_its_path(saved: dict[str, Any], path: str, where: str) -> None:
    with pytest.raises(BadSpec) as caught:
        Report.from_dict(without(saved, path))
    assert caught.value.where == where
    assert path.rpartition(".")[2] in caught.value.what


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (("facts", "macs"), "many", "$.facts.macs"),
        (("facts", "macs"), True, "$.facts.macs"),
        (("facts", "macs"), 1.5, "$.facts.macs"),
        (("facts", "exact"), 1, "$.facts.exact"),
        (("facts",), [], "$.facts"),
        (("memory", "profile", "live"), [1, "2"], "$.memory.profile.live[1]"),
        (("network", "inputs"), {}, "$.network.inputs"),
        (("schema",), 2, "$.schema"),
    ],
)
def test_a_wrong_value_is_named_with_its_path(
    saved: dict[str, Any], path: tuple[str, ...], value: object, where: str
) -> None:
    changed = json.loads(json.dumps(saved))
    target = changed
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    with pytest.raises(BadSpec) as caught:
        Report.from_dict(changed)
    assert caught.value.where == where


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "null", '{"schema": 1}', '{"schema": NaN}', "[" * 100_000, '{"a": 1}']
)
def test_text_that_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(BadSpec):
        Report.from_json(text)


def test_a_large_report_keeps_one_node_a_line() -> None:
    text = large(500).to_json()
    assert max(map(len, text.splitlines())) < 10_000
    assert len(Report.from_json(text).nodes) == 500
