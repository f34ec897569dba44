from __future__ import annotations

import csv
import re
import tomllib
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

from weighbridge import textbook
from weighbridge.errors import BadSpec
from weighbridge.frontends.toml_values import limits
from weighbridge.graph import Graph, Role
from weighbridge.operators.record import Call
from weighbridge.operators.table import OPERATORS


def parameters(graph: Graph) -> int:
    return sum(tensor.elements for tensor in graph.stored() if tensor.role is Role.PARAMETER)


def macs(graph: Graph) -> int:
    total = 0
    for node in graph.nodes:
        operands: dict = {}
        for name, tensor in node.operands:
            operands[name] = (*operands.get(name, ()), graph.tensors[tensor].type)
        outputs = tuple(graph.tensors[tensor].type for tensor in node.outputs)
        total += OPERATORS[node.operator].macs(Call(operands, node.attributes, outputs))
    return total


PUBLISHED = {
    "vgg16": "vgg16",
    "resnet18": "resnet18",
    "resnet34": "resnet34",
    "resnet50": "resnet50",
    "mobilenet_v2": "mobilenet_v2",
    "squeezenet": "squeezenet1_0",
    "squeezenet:version=1.1": "squeezenet1_1",
}


@pytest.mark.parametrize(("spec", "builder"), PUBLISHED.items())
def test_counts_are_the_published_ones(spec, builder, shared):
    with (shared / "facts" / "torchvision.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["builder"] == builder]
    assert rows
    graph = textbook.find(spec)
    for row in rows:
        assert parameters(graph) == int(row["parameters"])
        giga = (Decimal(macs(graph)) / 10**9).quantize(Decimal("0.001"), ROUND_HALF_UP)
        assert giga == Decimal(row["gmacs"])


@pytest.mark.parametrize("name", ["mcunet_in3", "mcunet_in4"])
def test_mcunet_is_the_authors(name, shared):
    """Their table's millions of MACs and of parameters; what they need of SRAM is their engine's, with kernels in place."""
    with (shared / "facts" / "published.toml").open("rb") as file:
        published = tomllib.load(file, parse_float=Decimal)["mcunet_zoo"][name]
    graph = textbook.find(name)
    assert round(Decimal(macs(graph)) / 10**6, 1) == published[0]
    assert round(Decimal(parameters(graph)) / 10**6, 2) == published[1]


# Tables 6 and 7 of the paper: millions of multiply-adds and of parameters, the last digit cut or rounded.
MOBILENET_V1 = {
    "width=1.0": (569, 4.2),
    "width=0.75": (325, 2.6),
    "width=0.5": (149, 1.3),
    "width=0.25": (41, 0.5),
    "resolution=192": (418, 4.2),
    "resolution=160": (290, 4.2),
    "resolution=128": (186, 4.2),
}


@pytest.mark.parametrize(("choice", "published"), MOBILENET_V1.items())
def test_mobilenet_v1_is_the_papers(choice, published):
    graph = textbook.find(f"mobilenet_v1:{choice}")
    assert macs(graph) / 1e6 == pytest.approx(published[0], abs=0.999)
    assert parameters(graph) / 1e6 == pytest.approx(published[1], abs=0.05)


def test_mobilenet_v2_widths():
    """The parameters of the 1.4 model are 6.11 million in the authors' table; 24.435104 MB at 4 bytes each."""
    assert parameters(textbook.find("mobilenet_v2:width=1.4")) == 6108776


def test_small_networks_by_hand():
    # LeNet-5, layer by layer; LeNet-300-100 is 266,610 in "Learning both Weights and Connections" (267 K).
    assert parameters(textbook.find("lenet5")) == 156 + 2416 + 48120 + 10164 + 850
    assert parameters(textbook.find("mlp")) == 785 * 300 + 301 * 100 + 101 * 10
    assert parameters(textbook.find("lenet5:bias=false")) == 150 + 2400 + 48000 + 10080 + 840


@pytest.mark.parametrize("name", textbook.names())
def test_every_network_names_its_source_and_takes_a_batch(name):
    found = textbook.specification(name)
    assert found.header.name == name
    assert found.header.title
    assert found.header.description
    assert len(found.header.source) > 30
    assert all(parameter.description for parameter in found.parameters.values())
    one, three = textbook.find(name), textbook.find(f"{name}:batch=3")
    assert macs(three) == 3 * macs(one) > 0
    assert parameters(three) == parameters(one)
    assert not any("#" in node.name for node in one.nodes)


@pytest.mark.parametrize("name", textbook.names())
def test_parameters_at_their_limits_build_or_say_why(name):
    for key, parameter in textbook.specification(name).parameters.items():
        for choice in (*limits(parameter), *parameter.choices, True, False):
            try:
                graph = textbook.find(name, {key: choice})
            except BadSpec as error:
                assert str(error).startswith(name)
            else:
                assert parameters(graph) > 0


def test_layers_have_the_names_of_the_literature():
    alexnet = [node.name for node in textbook.find("alexnet").nodes]
    assert [name for name in alexnet if re.match("conv|pool|fc", name)] == (
        ["conv1", "pool1", "conv2", "pool2", "conv3", "conv4", "conv5", "pool5", "fc6", "fc7", "fc8"]
    )
    resnet = textbook.find("resnet50")
    scopes = {node.name: node.scope for node in resnet.nodes}
    assert scopes["layer1.0.conv1"] == "layer1.0"
    assert scopes["layer4.0.downsample.0"] == "layer4.0.downsample"
    assert scopes["conv1"] == ""
    stored = {tensor.id for tensor in resnet.stored()}
    assert {"conv1.weight", "layer1.0.bn1.running_mean", "layer3.5.bn3.bias", "fc.weight", "fc.bias"} <= stored


BAD = {
    "alexnat": ["did you mean alexnet?", "resnet50", "mobilenet_v2"],
    "": ["no textbook network"],
    "../alexnet": ["no textbook network"],
    "alexnet:": None,
    "alexnet:resolution": ["write name=value"],
    "alexnet:resolution=": ["write name=value"],
    "alexnet:=3": ["write name=value"],
    "alexnet:batch=2,batch=3": ["twice"],
    "alexnet:reslution=256": ["did you mean resolution?", "the parameters are batch, resolution, classes, head, bias"],
    "alexnet:resolution=1000000000": ["63 to 8,192", "1000000000"],
    "alexnet:resolution=62": ["63 to 8,192"],
    "alexnet:resolution=-224": ["63 to 8,192"],
    "alexnet:resolution=nan": ["a whole number"],
    "alexnet:resolution=224.0": ["a whole number"],
    "alexnet:resolution=0x100": ["a whole number"],
    "alexnet:resolution=" + "9" * 5000: ["a whole number"],
    "alexnet:batch=0": ["1 to 65,536"],
    "alexnet:batch=true": ["a whole number"],
    "alexnet:bias=maybe": ["true or false"],
    "alexnet:head=average": ["one of flatten, gap"],
    "mobilenet_v2:width=nan": ["0.1 to 16"],
    "mobilenet_v2:width=inf": ["0.1 to 16"],
    "mobilenet_v2:width=-1": ["0.1 to 16"],
    "mobilenet_v2:width=1e999": ["0.1 to 16"],
    "squeezenet:version=1": ["one of 1.0, 1.1"],
    "squeezenet:resolution=1,version=2,classes=x": ["3 faults"],
}


@pytest.mark.parametrize(("spec", "said"), BAD.items())
def test_bad_choices_say_what_would_do(spec, said):
    if said is None:
        assert len(textbook.find(spec).nodes) == len(textbook.find("alexnet").nodes)
        return
    with pytest.raises(BadSpec) as caught:
        textbook.find(spec)
    message = str(caught.value)
    for words in said:
        assert words in message
    assert len(message) < 1500


def test_a_parameter_from_elsewhere_cannot_contradict_the_spec():
    assert textbook.find("alexnet", {"batch": 4}).tensors["fc8"].shape == (4, 1000)
    with pytest.raises(
        BadSpec, match=r"^alexnet: 'batch' is 2 in the name of the network, and 4 beside it; leave batch=2"
    ):
        textbook.find("alexnet:batch=2", {"batch": 4})
    with pytest.raises(BadSpec, match="thousands of digits"):
        textbook.find("alexnet:batch=2", {"batch": 10**5000})
    assert textbook.find("alexnet:batch=4", {"batch": 4}).tensors["fc8"].shape == (4, 1000)


def test_networks_are_packaged():
    assert {"alexnet", "resnet50", "mobilenet_v2"} <= set(textbook.names())
    folder = Path(textbook.__file__).parent
    assert {path.stem for path in folder.glob("*.toml")} == set(textbook.names())
