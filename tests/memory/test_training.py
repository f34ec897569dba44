"""Training memory by the rule ``paper``: the figures of the literature, a naive walk, and what each way of training leaves."""

from __future__ import annotations

from math import prod

import pytest

import weighbridge
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.graph import BRANCH, LOOP, UNKNOWN, Body, Graph, Role, TensorType
from weighbridge.memory.training.optimisers import OPTIMISERS
from weighbridge.memory.training.plan import plan_training
from weighbridge.memory.training.records import TrainingPlan
from weighbridge.memory.training.request import training_of
from weighbridge.passes import bit_rules, set_bits

FLOAT = DTYPES["float32"]
RESNET, MOBILENET = "resnet50", "mobilenet_v2:width=1.4"


def plan(source: str | Graph, optimiser: str = "sgd", *, batch: int = 8, **options: object) -> TrainingPlan:
    graph = source if isinstance(source, Graph) else weighbridge.load(source, batch=batch)
    return plan_training(graph, training_of(optimiser, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "parameters", "saved", "peak", "node", "bias_only"),
    [
        (RESNET, 102_228_128, 706_518_528, 712_775_168, "layer4.2.relu3", 9_608_704),
        (MOBILENET, 24_435_104, 623_518_448, 626_183_152, "last.relu6", 8_754_928),
    ],
)
def test_the_figures_of_the_lecture(
    source: str, parameters: int, saved: int, peak: int, node: str, bias_only: int
) -> None:
    found = plan(source)
    assert found.parameter_bytes == found.gradient_bytes == parameters
    assert (found.saved_bytes, found.peak_activation_bytes, found.peak_node) == (saved, peak, node)
    assert found.exact
    assert plan(source, updates=["biases"]).saved_bytes == bias_only


def linear(build: Builder, name: str, x: str, outputs: int, *, bias: bool = True) -> str:
    features = (build.tensors[x].shape or ())[-1]
    operands = [("x", x), ("w", build.stored(f"{name}.weight", (outputs, features), FLOAT))]
    if bias:
        operands.append(("b", build.stored(f"{name}.bias", (outputs,), FLOAT)))
    return build.add("linear", operands, name=name)[0]


def test_what_is_saved_by_a_naive_walk() -> None:
    """Of a network of convolutions, every call of four kinds of operators, whatever it is."""
    for source in ("alexnet", "resnet18", "squeezenet", "mobilenet_v1", "vgg16"):
        graph = weighbridge.load(source, batch=3)
        total = 0
        for node in graph.nodes:
            values = prod(graph.tensors[node.inputs[0]].shape or ())
            if node.operator in ("conv", "linear", "batch_norm"):
                total += 4 * values
            elif node.operator in ("relu", "clip"):
                total += -(-values // 8)
            elif node.operator == "local_response_norm" or node.operator == "softmax":
                total += 4 * values
        assert plan(graph).saved_bytes == total, source


def test_layers_add_up_to_what_is_saved_and_held() -> None:
    found = plan(RESNET, "adam")
    assert sum(layer.saved_bytes for layer in found.layers) == found.saved_bytes
    assert sum(layer.parameter_bytes for layer in found.layers) == found.parameter_bytes
    assert sum(layer.gradient_bytes for layer in found.layers) == found.gradient_bytes
    assert sum(layer.optimiser_bytes for layer in found.layers) == found.optimiser_bytes == 8 * 25_557_032
    assert all(
        layer.training_bytes == layer.saved_bytes + layer.parameter_bytes + layer.gradient_bytes
        for layer in found.layers
    )


def test_the_total_is_the_sum_of_the_parts() -> None:
    found = plan("resnet18", "adamw", mixed_precision=True)
    parts = (
        found.parameter_bytes,
        found.buffer_bytes,
        found.gradient_bytes,
        found.optimiser_bytes,
        found.master_bytes,
        found.peak_activation_bytes,
    )
    assert found.total_bytes == sum(part or 0 for part in parts)
    assert found.parameter_bytes == found.gradient_bytes == 2 * 11_689_512
    assert found.master_bytes == 4 * 11_689_512


def test_mixed_precision_halves_what_is_saved_as_values_and_not_the_bits() -> None:
    whole, half = plan("alexnet", batch=3), plan("alexnet", batch=3, mixed_precision=True)
    bits = sum(layer.saved_bytes for layer in whole.layers if layer.operator == "relu")
    assert sum(layer.saved_bytes for layer in half.layers if layer.operator == "relu") == bits
    assert (half.saved_bytes - bits) * 2 == whole.saved_bytes - bits
    assert half.peak_activation_bytes < whole.peak_activation_bytes


def test_what_has_16_bits_already_has_a_master_copy_too_and_integers_have_none() -> None:
    graph = weighbridge.load("lenet5")
    narrow = plan(set_bits(graph, bit_rules(["rest=16", "biases=16"])), "adam", mixed_precision=True)
    assert narrow == plan(graph, "adam", mixed_precision=True)._replace(
        saved_bytes=narrow.saved_bytes,
        peak_activation_bytes=narrow.peak_activation_bytes,
        total_bytes=narrow.total_bytes,
        layers=narrow.layers,
    )
    assert narrow.master_bytes == 4 * 61_706
    integers = plan(set_bits(graph, bit_rules(["8"])), "adam", mixed_precision=True)
    assert integers.master_bytes == 4 * (61_706 - 61_470)
    assert integers.gradient_bytes == 4 * 61_470 + 2 * (61_706 - 61_470)


def test_constants_are_frozen_at_their_own_width() -> None:
    build = Builder("shifted")
    y = linear(build, "fc", build.input("x", (1, 8), FLOAT), 8)
    constant = build.stored("c", (8,), FLOAT, Role.CONSTANT)
    build.add("add", [("a", y), ("b", constant)], outputs=["y"])
    found = plan(build.graph(["y"]), mixed_precision=True)
    assert (found.buffer_bytes, found.frozen_bytes) == (32, 32)
    frozen = plan(build.graph(["y"]), updates=["biases"], mixed_precision=True)
    assert frozen.frozen_bytes == 32 + 2 * 64


def test_sixteen_bytes_a_parameter_of_bert() -> None:
    """published.toml, adam_mixed_precision: 2 + 2 + 4 + 4 + 4 B for each of BERT base cased's parameters."""
    build = Builder("bert base cased's parameters")
    x = build.input("x", (1, 108_310_272), FLOAT)
    found = plan(build.graph([linear(build, "all", x, 1, bias=False)]), "adam", mixed_precision=True)
    held = (found.parameter_bytes, found.gradient_bytes, found.master_bytes, found.optimiser_bytes)
    assert held == (2 * 108_310_272, 2 * 108_310_272, 4 * 108_310_272, 8 * 108_310_272)
    assert sum(part or 0 for part in held) == 1_732_964_352


@pytest.mark.parametrize(
    ("optimiser", "shape", "state"),
    [
        ("sgd", (64, 64), 0),
        ("momentum", (64, 64), 4 * 4096),
        ("adam", (64, 64), 8 * 4096),
        ("adamw", (3,), 24),
        ("adam8bit", (64, 64), 2 * (4096 + 4 * 2)),
        ("adam8bit", (4097,), 2 * (4097 + 4 * 3)),
        ("adam8bit", (4095,), 8 * 4095),
        ("adafactor", (64, 128), 4 * (64 + 128)),
        ("adafactor", (16, 8, 3, 5), 4 * 16 * 8 * (3 + 5)),
        ("adafactor", (7,), 28),
    ],
)
def test_states_of_optimisers(optimiser: str, shape: tuple[int, ...], state: int) -> None:
    assert OPTIMISERS[optimiser].state_bytes(shape) == state


def test_only_the_last_layers_keep_their_input() -> None:
    found = plan("alexnet", batch=1, updates=["last-2"])
    kept = {layer.name: layer.saved_bytes for layer in found.layers if layer.saved_bytes}
    assert kept == {"fc7": 4 * 4096, "relu7": 4096 // 8, "fc8": 4 * 4096}
    assert found.trained_parameters == 4096 * 4096 + 4096 + 4096 * 1000 + 1000


def test_a_share_of_the_channels_is_a_share_of_the_input_and_of_the_gradient() -> None:
    whole = plan("alexnet", batch=1, updates=["conv3"])
    part = plan("alexnet", batch=1, updates=["conv3=1/4"])
    (before,) = [layer for layer in whole.layers if layer.name == "conv3"]
    (after,) = [layer for layer in part.layers if layer.name == "conv3"]
    assert (before.saved_bytes, after.saved_bytes) == (4 * 256 * 13 * 13, 4 * 64 * 13 * 13)
    assert before.gradient_bytes - after.gradient_bytes == 4 * 384 * 192 * 9
    assert plan("alexnet", "adam", batch=1, updates=["conv3=1/4"]).optimiser_bytes == 8 * (384 * 64 * 9 + 384)


def test_a_share_of_a_depthwise_layer_is_one_of_its_own_channels() -> None:
    graph = weighbridge.load("mobilenet_v2", batch=1)
    name = next(node.name for node in graph.nodes if node.attributes.get("groups", 1) != 1)
    found = plan(graph, updates=[f"{name}=1/2"])
    (layer,) = [layer for layer in found.layers if layer.name == name]
    assert layer.gradient_bytes * 2 == layer.parameter_bytes


def test_frozen_parts_are_left_out_whatever_else_says_so() -> None:
    found = plan("resnet18", frozen=["fc"])
    assert found.trained_parameters == 11_689_512 - 513_000
    assert plan("resnet18", updates=["layer4", "fc"], frozen=["layer4"]).trained_parameters == 513_000


def test_a_module_is_trained_with_its_normalisations() -> None:
    assert plan("resnet18", updates=["layer4.1"]).trained_parameters == 2 * 512 * 512 * 9 + 4 * 512


def test_nothing_is_kept_before_the_first_trained_layer() -> None:
    found = plan("resnet18", updates=["layer4.1.conv2"])
    assert [layer.name for layer in found.layers if layer.saved_bytes] == [
        "layer4.1.conv2",
        "layer4.1.relu2",
    ]


def test_adapters_train_two_narrow_matrices_beside_a_layer() -> None:
    found = plan("alexnet", "adam", batch=1, adapters=["fc7=8"])
    assert found.trained_parameters == 8 * (4096 + 4096)
    assert found.optimiser_bytes == 8 * found.trained_parameters
    kept = {layer.name: layer.saved_bytes for layer in found.layers if layer.gradient_bytes}
    assert kept == {"fc7.lora_a": 4 * 4096, "fc7.lora_b": 4 * 8}
    assert found.parameter_bytes == 4 * (60_965_224 + found.trained_parameters)


def test_a_checkpointed_module_keeps_what_it_is_given_and_runs_again() -> None:
    """By hand: a chain in which the middle is a module of three layers."""
    plain, saving = plan("resnet18"), plan("resnet18", checkpoints=["layer*"])
    assert saving.saved_bytes < plain.saved_bytes
    in_layer_1 = sum(layer.saved_bytes for layer in plain.layers if layer.scope.startswith("layer1"))
    one = plan("resnet18", checkpoints=["layer1"])
    given = 4 * 8 * 64 * 56 * 56
    assert one.saved_bytes == plain.saved_bytes - in_layer_1 + given
    everything = plan("resnet18", checkpoints=["layer1", "layer2", "layer3", "layer4"])
    inside = {
        name: sum(layer.saved_bytes for layer in plain.layers if layer.scope.startswith(name))
        for name in ("layer1", "layer2", "layer3", "layer4")
    }
    assert everything.saved_bytes < everything.peak_activation_bytes < everything.saved_bytes + max(inside.values()) * 2


def chain(build: Builder, x: str, *layers: tuple[str, str, str]) -> str:
    """Layers of a name, a scope and an operator, one behind the other, of 8 values to 8."""
    for name, scope, operator in layers:
        operands = [("a", x), ("b", x)]
        if operator == "linear":
            operands = [("x", x), ("w", build.stored(f"{name}.w", (8, 8), FLOAT))]
        (x,) = build.add(operator, operands, name=name, scope=scope)
    return x


def test_the_peak_with_a_checkpoint_by_hand() -> None:
    """Values of 8 floats: what is before the module, what it is given, what its first layers keep, what its last one has in use."""
    build = Builder("checkpointed")
    scopes = [("before", "", "linear"), *((f"m.{i}", "m", "linear") for i in range(3)), ("behind", "", "linear")]
    graph = build.graph([chain(build, build.input("x", (1, 8), FLOAT), *scopes)])
    found = plan(graph, checkpoints=["m"])
    assert found.saved_bytes == 32 * 3
    assert (found.peak_activation_bytes, found.peak_node) == (32 * (1 + 1 + 2 + 2), "m.2")
    assert plan(graph).peak_activation_bytes == 32 * (4 + 2)


def test_the_peak_can_be_behind_what_has_nothing_in_use() -> None:
    build = Builder("products")
    layers = [("m.0", "m", "linear"), *((f"m.{i}", "m", "mul") for i in range(1, 4)), ("behind", "", "linear")]
    graph = build.graph([chain(build, build.input("x", (1, 8), FLOAT), *layers)])
    found = plan(graph, checkpoints=["m"])
    assert (found.peak_activation_bytes, found.peak_node) == (32 * (1 + 4), "m.3")
    assert plan(graph).peak_node == "behind"
    ends = Builder("ends in products")
    x = chain(ends, ends.input("x", (1, 8), FLOAT), *layers[:-1])
    assert (plan(ends.graph([x])).peak_activation_bytes, plan(ends.graph([x])).peak_node) == (32 * 4, "m.3")


def test_a_convolution_in_groups_has_a_share_of_its_output_in_use() -> None:
    build = Builder("depthwise")
    operands = [("x", build.input("x", (1, 8, 6, 6), FLOAT)), ("w", build.stored("w", (8, 1, 3, 3), FLOAT))]
    y = build.add("conv", operands, {"padding": 1, "groups": 8})
    found = plan(build.graph(list(y)))
    assert (found.saved_bytes, found.peak_activation_bytes) == (4 * 8 * 36, 4 * (8 * 36 + 36))


def test_a_bit_a_value_takes_whole_bytes() -> None:
    build = Builder("nine")
    y = linear(build, "fc", build.input("x", (1, 2), FLOAT), 9)
    found = plan(build.graph(list(build.add("relu", [("x", y)], name="relu"))))
    assert {layer.name: layer.saved_bytes for layer in found.layers} == {"fc": 8, "relu": 2}


def test_what_is_only_added_is_not_kept() -> None:
    """A bias that is computed at run time."""
    build = Builder("added")
    x = build.input("x", (1, 8), FLOAT)
    shift = linear(build, "shift", x, 8)
    (row,) = build.add("reshape", [("x", shift)], {"shape": (8,)})
    y = build.add("linear", [("x", shift), ("w", build.stored("w", (8, 8), FLOAT)), ("b", row)], name="fc")
    assert {layer.name: layer.saved_bytes for layer in plan(build.graph(list(y))).layers} == {"shift": 32, "fc": 32}


def with_bodies(operator: str, *bodies: Body) -> Graph:
    build = Builder("control")
    x = build.input("x", (1, 8), FLOAT)
    build.stored("w", (8, 8), FLOAT)
    y = build.opaque(operator, [("captures", x)], [TensorType((1, 8), FLOAT)], name="control", bodies=bodies)
    return build.graph(list(y))


def body(name: str, layers: int, trips: int | None = 1) -> Body:
    build = Builder(name)
    scopes = [(f"{name}.{place}", "", "linear") for place in range(layers)]
    return Body(name, build.graph([chain(build, build.input("x", (1, 8), FLOAT), *scopes)]), trips)


def test_a_loop_keeps_what_every_trip_does_and_an_if_what_its_largest_branch_does() -> None:
    loop = plan(with_bodies(LOOP, body("once", 2, 5)))
    assert (loop.saved_bytes, loop.exact) == (5 * 2 * 32, True)
    (layer,) = loop.layers
    assert (layer.parameter_bytes, layer.gradient_bytes) == (2 * 256, 2 * 256)
    branch = plan(with_bodies(BRANCH, body("less", 1), body("more", 3)))
    assert (branch.saved_bytes, branch.exact) == (3 * 32, True)
    unknown = plan(with_bodies(LOOP, body("often", 2, None)))
    assert (unknown.saved_bytes, unknown.exact) == (2 * 32, False)
    assert "nobody knows how often" in unknown.notes[0]


def test_a_share_of_a_layer_in_a_loop_is_a_share() -> None:
    graph = with_bodies(LOOP, body("once", 2, 5))
    whole, part = plan(graph, updates=["once.0"]), plan(graph, updates=["once.0=1/4"])
    assert (whole.trained_parameters, part.trained_parameters) == (64, 16)
    assert part.saved_bytes == whole.saved_bytes // 4


def test_a_product_keeps_the_other_operand_where_that_one_has_a_gradient() -> None:
    build = Builder("gate")
    x = build.input("x", (2, 8), FLOAT)
    squeezed = linear(build, "squeeze", x, 8)
    (gate,) = build.add("sigmoid", [("x", squeezed)], name="gate")
    (scaled,) = build.add("mul", [("a", x), ("b", gate)], name="scaled")
    (squared,) = build.add("mul", [("a", scaled), ("b", scaled)], name="squared")
    build.add("div", [("a", squared), ("b", gate)], name="divided", outputs=["y"])
    kept = {layer.name: layer.saved_bytes for layer in plan(build.graph(["y"])).layers}
    values = 4 * 16
    assert kept == {"squeeze": values, "gate": values, "scaled": values, "squared": values, "divided": 2 * values}


def test_an_operator_without_a_rule_makes_a_lower_bound_that_names_it() -> None:
    build = Builder("odd")
    x = linear(build, "fc", build.input("x", (2, 8), FLOAT), 8)
    (y,) = build.opaque(UNKNOWN, [("x", x)], [TensorType((2, 8), FLOAT)], name="strange", reason="nobody knows")
    found = plan(build.graph([y]))
    assert not found.exact
    assert "strange: nobody knows" in " ".join(found.notes)
    assert [layer.exact for layer in found.layers] == [True, False]


def test_the_share_of_channels_is_rounded_up_to_a_channel() -> None:
    build = Builder("narrow")
    y = linear(build, "fc", build.input("x", (1, 10), FLOAT), 3)
    found = plan(build.graph([y]), updates=["fc=1/3"])
    assert found.trained_parameters == 3 * 4 + 3
    assert found.layers[0].saved_bytes == 4 * 4


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"optimiser": "adaam"}, "did you mean adam"),
        ({"rule": "papers"}, "paper, autograd"),
        ({"attention": "flush"}, "did you mean flash"),
        ({"attention": "math", "rule": "paper"}, "knows no kernel"),
        ({"rule": "autograd"}, "needs a PyTorch module"),
        ({"updates": ["conv9"]}, "conv9"),
        ({"updates": ["conv1=2"]}, "updates nothing"),
        ({"updates": ["conv1=0"]}, "updates nothing"),
        ({"updates": ["=1/2"]}, "updates nothing"),
        ({"updates": [" "]}, "names nothing"),
        ({"updates": ["last-99"]}, "layers with weights"),
        ({"frozen": ["all"]}, "nothing to train"),
        ({"frozen": ["conv9"]}, "conv9"),
        ({"adapters": ["fc*"]}, "is no adapter"),
        ({"adapters": ["fc*=0"]}, "is no adapter"),
        ({"adapters": ["conv1=4"]}, "no linear layer"),
        ({"checkpoints": ["nowhere"]}, "no module"),
    ],
)
def test_what_cannot_be_is_said(options: dict[str, object], says: str) -> None:
    with pytest.raises(BadSpec, match=says.replace("(", "[(]")):
        plan("alexnet", **{"optimiser": "sgd", **options})  # type: ignore[arg-type]


def test_a_network_without_parameters_cannot_be_trained() -> None:
    build = Builder("nothing")
    (y,) = build.add("relu", [("x", build.input("x", (1,), FLOAT))])
    with pytest.raises(BadSpec, match="no parameters"):
        plan(build.graph([y]))


def test_words_say_how_it_is_trained() -> None:
    asked = training_of("sgd", updates=["biases", "conv*=1/4"], frozen=["fc"], adapters=["q=8"], checkpoints=["layer1"])
    assert asked.words == ("update biases", "update conv*=1/4", "freeze fc", "lora q=8", "checkpoint layer1")


def test_an_unknown_size_that_a_checkpoint_is_given_makes_a_lower_bound() -> None:
    """Whoever reads it, an addition too, which keeps nothing itself."""
    build = Builder("open")
    x = build.input("x", None, FLOAT)
    known = linear(build, "fc", build.input("z", (2, 8), FLOAT), 8)
    kind = TensorType((2, 8), FLOAT)
    (y,) = build.add("add", [("a", x), ("b", known)], name="add", scope="block", declared=[kind])
    (z,) = build.add("relu", [("x", y)], name="relu", scope="block")
    found = plan(build.graph([z]), checkpoints=["block"])
    assert not found.exact
    assert "add: a size is unknown" in " ".join(found.notes)
