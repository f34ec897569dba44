"""Uploads in simulators: offered while they are there, read once in a process of its own, refused as the command line refuses them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import weighbridge
from tests.web.client import ask
from weighbridge.errors import BadModel, BadSpec
from weighbridge.graph import UNKNOWN
from weighbridge.graph_json import graph_to_dict, graph_to_json
from weighbridge.web.references import UPLOAD
from weighbridge.web.server import application
from weighbridge.web.shelf import Model, Shelf, opened
from weighbridge.web.simulator import Answer, answered
from weighbridge.web.simulators import simulators
from weighbridge.web.simulators.peak import peak
from weighbridge.web.uploads import Uploads
from weighbridge.web.work import Busy, Fault, Work

CHAIN = """
name = "chain"
title = "A chain"
source = "made up"
parameters.batch = { default = 2, maximum = 64, description = "inputs at once" }
inputs = [{ name = "image", shape = ["batch", 8, 16, 16] }]
layers = [
  { name = "conv", op = "conv", out = 4, kernel = 3, padding = 1 },
  { name = "relu", op = "relu" },
  { name = "conv2", op = "conv", out = 8, kernel = 3, padding = 1 },
]
"""


class Told(Work):
    """Work that counts what it is asked, and says what it is told to say."""

    def __init__(self, *said: bytes | BaseException) -> None:
        super().__init__()
        self.said = list(said)
        self.asked = 0

    def do(self, job: object, *arguments: object) -> bytes:
        self.asked += 1
        said = self.said[0] if len(self.said) == 1 else self.said.pop(0)
        if isinstance(said, BaseException):
            raise said
        return said


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    with opened() as one:
        yield one


def upload(shelf: Shelf, content: str = CHAIN, name: str = "chain.toml") -> Model:
    return shelf.add_model(name, io.BytesIO(content.encode()))


def test_an_upload_is_offered_while_it_is_there(shelf: Shelf) -> None:
    (network, *_) = peak(Uploads(shelf, Told(b""))).controls
    textbook = set(network.choices)
    model = upload(shelf)
    assert set(network.choices) - textbook == {f"{UPLOAD}{model.id}"}
    assert network.choices[f"{UPLOAD}{model.id}"] == "chain.toml (uploaded)"
    assert len(network.choices) == len(list(network.choices)) == len(textbook) + 1
    shelf.drop_model(model.id)
    assert set(network.choices) == textbook


def test_its_peak_is_the_reports(shelf: Shelf, tmp_path: object) -> None:
    model, work = upload(shelf), Work()
    app = application(shelf, work)
    report = weighbridge.weigh(str(model.folder / model.name), precision="int8")
    twin = ask(f"/peak.json?network={UPLOAD}{model.id}&step=2", app=app).json()
    found = {one["name"]: one["value"] for one in twin["readouts"]}
    assert found["peak_bytes"] == report.memory.peak_bytes["live"]
    assert found["alive_bytes"] == report.memory.profile["live"][1]
    assert twin["reaches"] == {"step": len(report.nodes)}
    assert twin["unused"] == ["batch"]
    page = ask(f"/peak?network={UPLOAD}{model.id}", app=app)
    assert page.status_code == 200
    assert "chain.toml (uploaded)" in page.text
    work.close()


def test_the_document_of_an_app_names_its_uploads(shelf: Shelf) -> None:
    app, model = application(shelf, Told(b"")), upload(shelf)
    document = ask("/openapi.json", app=app).json()
    (network,) = (one for one in document["paths"]["/peak.json"]["get"]["parameters"] if one["name"] == "network")
    assert f"{UPLOAD}{model.id}" in network["schema"]["enum"]


def graph() -> bytes:
    return graph_to_json(weighbridge.load("lenet5")).encode()


def asked(shelf: Shelf, work: Work, **state: object) -> tuple[dict[str, str], Answer | None]:
    model = upload(shelf)
    said = {"network": f"{UPLOAD}{model.id}", **state}
    found, answer = answered(peak(Uploads(shelf, work)), [(name, str(value)) for name, value in said.items()])
    return dict(found.faults), answer


def test_a_model_is_read_once_whatever_moves(shelf: Shelf) -> None:
    work, model = Told(graph()), upload(shelf)
    simulator = peak(Uploads(shelf, work))
    for step in range(1, 9):
        for bits in (8, 16, 32):
            _, answer = answered(
                simulator, [("network", f"{UPLOAD}{model.id}"), ("step", str(step)), ("bits", str(bits))]
            )
            assert answer is not None
    assert work.asked == 1


def test_those_who_ask_at_once_wait_for_one_reading(shelf: Shelf) -> None:
    work, model = Told(graph()), upload(shelf)
    uploads = Uploads(shelf, work)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: uploads.sized(f"{UPLOAD}{model.id}", 1), range(16)))
    assert work.asked == 1
    assert len({id(one.graph) for one in found}) == 1


def test_a_file_that_leaves_its_batch_open_takes_the_one_of_the_page(shelf: Shelf) -> None:
    work = Told(BadSpec("the batch is open", where="x"), graph())
    faults, answer = asked(shelf, work, batch=4)
    assert not faults
    assert answer is not None
    assert "batch" not in answer.unused
    assert work.asked == 2


@pytest.mark.parametrize(
    "error", [BadModel("it is cut short", where="chain.toml"), BadSpec("sequence is open", where="ids")]
)
def test_what_cannot_be_read_is_said_beside_the_network(shelf: Shelf, error: Exception) -> None:
    work = Told(error)
    for _ in range(2):
        faults, answer = asked(shelf, work)
        assert answer is None
        assert set(faults) == {"network"}
        assert str(error.args[0] if error.args else error).split(":")[-1].strip()[:8] in faults["network"]


def test_one_that_is_faulty_is_not_read_again_and_again(shelf: Shelf) -> None:
    work, model = Told(BadModel("it is cut short")), upload(shelf)
    uploads = Uploads(shelf, work)
    for _ in range(5):
        with pytest.raises(BadSpec, match="cut short"):
            uploads.sized(f"{UPLOAD}{model.id}", 1)
    assert work.asked == 2, "as it is, and with a batch"


@pytest.mark.parametrize("error", [Busy("too much at once"), Fault("a fault of ours")])
def test_what_is_not_the_models_fault_is_tried_again(shelf: Shelf, error: Exception) -> None:
    work, model = Told(error, graph()), upload(shelf)
    uploads = Uploads(shelf, work)
    with pytest.raises(type(error)):
        uploads.sized(f"{UPLOAD}{model.id}", 1)
    assert uploads.sized(f"{UPLOAD}{model.id}", 1).graph.nodes


def test_no_more_than_eight_graphs_are_kept(shelf: Shelf) -> None:
    work = Told(graph())
    uploads = Uploads(shelf, work)
    models = [upload(shelf, name=f"{number}.toml") for number in range(9)]
    for model in [*models, models[-1], models[0]]:
        uploads.sized(f"{UPLOAD}{model.id}", 1)
    assert work.asked == 10


def test_one_that_is_too_large_to_step_through_says_so(shelf: Shelf) -> None:
    faults, _ = asked(shelf, Told(b" " * (17 << 20)))
    assert "16 MiB" in faults["network"]
    layers = ",".join(f'{{ name = "r{place}", op = "relu" }}' for place in range(5_001))
    long = f'name = "x"\ntitle = "x"\nsource = "x"\ninputs = [{{ name = "i", shape = [1, 2] }}]\nlayers = [{layers}]\n'
    (shelf.folder / "long.toml").write_text(long)
    deep = graph_to_json(weighbridge.load(str(shelf.folder / "long.toml"))).encode()
    faults, _ = asked(shelf, Told(deep))
    assert "5,001 nodes" in faults["network"]


def test_one_that_has_gone_is_a_fault(shelf: Shelf) -> None:
    faults, answer = asked(shelf, Told(graph()))
    found, _ = answered(peak(Uploads(shelf, Told(graph()))), [("network", f"{UPLOAD}{'0' * 16}")])
    assert not faults
    assert answer is not None
    assert set(found.faults) == {"network"}


def readouts(shelf: Shelf, work: Work, page: str, **state: object) -> tuple[dict[str, object], Answer]:
    model = upload(shelf)
    said = {"network": f"{UPLOAD}{model.id}", **state}
    simulator = simulators(Uploads(shelf, work))[page]
    found, answer = answered(simulator, [(name, str(value)) for name, value in said.items()])
    assert not found.faults
    assert answer is not None
    return {one.name: one.value for one in answer.readouts}, answer


def test_its_floors_are_the_reports(shelf: Shelf) -> None:
    report = weighbridge.weigh("lenet5", precision="int8", on=("jetson-agx-orin", "rtx-4090"))
    dozen, said = readouts(shelf, Told(graph()), "dozen", precision="int8")
    assert said.unused == ("batch",)
    for one in report.on:
        assert dozen[f"{one.device}.floor_s"] == one.latency.floor_s
    pair = {"one": "jetson-agx-orin", "other": "rtx-4090", "precision": "int8", "batch": 7}
    latency, said = readouts(shelf, Told(graph()), "latency", **pair)
    assert "batch" in said.unused
    assert [latency["one.floor_s"], latency["other.floor_s"]] == [one.latency.floor_s for one in report.on]


def test_its_bill_is_the_reports(shelf: Shelf) -> None:
    energy = weighbridge.weigh("lenet5", precision="float32", energy="45nm").energy
    assert energy is not None
    found, said = readouts(shelf, Told(graph()), "bill", precision="float32", batch=7)
    (dram,) = (one for one in energy.levels if one.level == "DRAM")
    assert found["total_j"] == found["input_j"] == dram.total_j
    assert said.unused == ("batch",)


def test_what_nobody_can_count_is_a_lower_bound(shelf: Shelf) -> None:
    plain = graph_to_dict(weighbridge.load("lenet5"))
    last = plain["nodes"][-1]
    plain["nodes"][-1] = {**last, "operator": UNKNOWN, "origin": "Odd", "reason": "nobody knows it", "attributes": {}}
    _, dozen = readouts(shelf, Told(json.dumps(plain).encode()), "dozen", precision="int8")
    (ops,) = (one for one in dozen.readouts if one.name == "ops")
    assert ops.shown.startswith(">= ")
    _, bill = readouts(shelf, Told(json.dumps(plain).encode()), "bill")
    shown = {one.name: one.shown for one in bill.readouts}
    assert all(shown[name].startswith(">= ") for name in ("arithmetic_j", "moved_j", "total_j", "charge_mah"))
    assert shown["moved_over_arithmetic"] == "?"
    assert "lower bounds" in bill.sentences[0]
    _, latency = readouts(shelf, Told(json.dumps(plain).encode()), "latency")
    shown = {one.name: one.shown for one in latency.readouts}
    assert all(shown[name].startswith(">= ") for name in ("ops", "one.compute_s", "one.memory_s", "other.floor_s"))
    assert (shown["one.bound"], shown["other.bound"]) == ("?", "?")
    assert not any("times that" in one for one in (*latency.sentences, *dozen.sentences))
    floors = [one for one in dozen.readouts if one.name.endswith(".floor_s") and one.value is not None]
    assert floors
    assert all(one.shown.startswith(">= ") and "not known" in one.meaning for one in floors)


def test_without_uploads_there_are_the_same_pages(shelf: Shelf) -> None:
    assert list(simulators(Uploads(shelf, Told(b"")))) == list(simulators())
