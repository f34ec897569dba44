from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weighbridge.errors import BadSpec
from weighbridge.frontends.from_toml import load_toml
from weighbridge.frontends.toml_build import MAX_LAYERS
from weighbridge.graph import Graph, Role

TOP = """
name = "net"
source = "a test"
inputs = [{ name = "x", shape = [1, 3, 8, 8] }]
"""


@pytest.fixture
def load(tmp_path):
    def load(text: str | bytes, **parameters: object) -> Graph:
        path = tmp_path / "net.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_toml(path, parameters)

    return load


def layers(*lines: str, more: str = "", top: str = TOP) -> str:
    return top + "layers = [\n" + "".join(f"  {{ {line} }},\n" for line in lines) + "]\n" + more


def shapes(graph: Graph) -> dict[str, tuple[int, ...]]:
    return {tensor.id: tensor.shape for tensor in graph.stored()}


CONSTRUCTORS = {
    "op = 'conv', out = 8, kernel = 3": {"weight": (8, 3, 3, 3), "bias": (8,)},
    "op = 'conv', out = 6, kernel = [1, 5], groups = 3, bias = false": {"weight": (6, 1, 1, 5)},
    "op = 'conv', out = 8, kernel = 3, layout = 'channels_last', bias = false": {"weight": (8, 8, 3, 3)},
    "op = 'conv_transpose', out = 6, kernel = 2, stride = 2, groups = 3": {"weight": (3, 2, 2, 2), "bias": (6,)},
    "op = 'linear', out = 5": {"weight": (5, 8), "bias": (5,)},
    "op = 'batch_norm'": {"weight": (3,), "bias": (3,), "running_mean": (3,), "running_var": (3,)},
    "op = 'batch_norm', affine = false": {"running_mean": (3,), "running_var": (3,)},
    "op = 'layer_norm'": {"weight": (8,), "bias": (8,)},
    "op = 'layer_norm', axis = 1": {"weight": (3, 8, 8), "bias": (3, 8, 8)},
    "op = 'rms_norm'": {"weight": (8,)},
    "op = 'group_norm', groups = 3": {"weight": (3,), "bias": (3,)},
    "op = 'instance_norm'": {"weight": (3,), "bias": (3,)},
    "op = 'conv', weights = { w = [4, 3, 1, 1] }": {"w": (4, 3, 1, 1)},
    "op = 'prelu', weights = { slope = [3, 1, 1] }": {"slope": (3, 1, 1)},
}


@pytest.mark.parametrize(("line", "expected"), CONSTRUCTORS.items())
def test_learned_tensors_follow_from_a_few_numbers(load, line, expected):
    graph = load(layers(f"name = 'a', {line}"))
    assert shapes(graph) == {f"a.{name}": shape for name, shape in expected.items()}
    buffers = {tensor.id for tensor in graph.stored() if tensor.role is Role.BUFFER}
    assert buffers == {name for name in shapes(graph) if "running" in name}


def test_lookups_and_recurrent_layers(load):
    top = """
name = "words"
source = "a test"
inputs = [{ name = "ids", shape = [2, 7], dtype = "int64" }]
"""
    graph = load(
        layers(
            "name = 'embed', op = 'embedding', rows = 50, out = 16",
            "name = 'lstm', op = 'lstm', hidden = 4, directions = 2",
            "name = 'gru', op = 'gru', from = 'embed', hidden = 4, bias = false",
            top=top,
        )
    )
    assert shapes(graph) == {
        "embed.weight": (50, 16),
        "lstm.weight_ih": (2, 16, 16),
        "lstm.weight_hh": (2, 16, 4),
        "lstm.bias": (2, 32),
        "gru.weight_ih": (1, 12, 16),
        "gru.weight_hh": (1, 12, 4),
    }


BLOCKS = """
[blocks.residual]
parameters = ["out"]
defaults = { kernel = "size", norm = true }
let.half = "out // 2"
layers = [
  { name = "a", op = "conv", out = "half", kernel = "kernel", padding = "kernel // 2", bias = false },
  { name = "norm", op = "batch_norm", when = "norm" },
  { name = "b", block = "pointwise", out = "out" },
  { name = "skip", block = "pointwise", from = "input", out = "out", when = "in_channels != out" },
  { name = "add", op = "add", from = ["b", "skip"] },
]

[blocks.pointwise]
parameters = ["out"]
layers = [{ name = "conv", op = "conv", out = "out", kernel = 1, bias = false }]

[blocks.join]
inputs = ["left", "right"]
layers = [
  { name = "concat", op = "concat", from = ["left", "right"], axis = 1 },
  { name = "mix", block = "pointwise", out = "in_channels" },
]
"""
PARAMETERS = TOP + "parameters.size = 3\nparameters.wide = { default = false }\nparameters.width = 1.0\n"


def test_blocks_are_scopes(load):
    graph = load(
        layers(
            "name = 'stage', block = 'residual', repeat = 2, out = '8 if index == 0 else 16'",
            "name = 'more{index + 1}', block = 'residual', repeat = 'size - 1', out = 16, norm = false, kernel = 1",
            "name = 'joined', block = 'join', from = ['stage', 'more1.b']",
            "name = 'out', op = 'relu', from = 'stage.1.norm'",
            more='outputs = ["joined", "out"]\n' + BLOCKS,
            top=PARAMETERS,
        )
    )
    assert [(node.name, node.scope) for node in graph.nodes] == [
        ("stage.0.a", "stage.0"),
        ("stage.0.norm", "stage.0"),
        ("stage.0.b.conv", "stage.0.b"),
        ("stage.0.skip.conv", "stage.0.skip"),
        ("stage.0.add", "stage.0"),
        ("stage.1.a", "stage.1"),
        ("stage.1.norm", "stage.1"),
        ("stage.1.b.conv", "stage.1.b"),
        ("stage.1.skip.conv", "stage.1.skip"),
        ("stage.1.add", "stage.1"),
        ("more1.a", "more1"),
        ("more1.b.conv", "more1.b"),
        ("more1.add", "more1"),
        ("more2.a", "more2"),
        ("more2.b.conv", "more2.b"),
        ("more2.add", "more2"),
        ("joined.concat", "joined"),
        ("joined.mix.conv", "joined.mix"),
        ("out", ""),
    ]
    reads = {node.name: node.inputs for node in graph.nodes}
    # A layer that is left out hands on what it would have read.
    assert reads["more1.add"] == ("more1.b.conv", "stage.1.add")
    assert reads["more2.a"][0] == "more1.add"
    # joined.mix reads in_channels of its scope, that of its first input: 16.
    assert graph.tensors["joined.mix.conv"].shape == (1, 16, 8, 8)
    assert reads["joined.concat"] == ("stage.1.add", "more1.b.conv")
    assert graph.outputs == ("joined.mix.conv", "out")


def test_parameters_reach_blocks_and_shapes(load):
    text = layers(
        "name = 'a', block = 'residual', out = 4, kernel = 'size'",
        more=BLOCKS,
        top=PARAMETERS.replace("[1, 3, 8, 8]", "[1, 3, '8 * size', 8]"),
    )
    assert load(text, size=5).tensors["a.add"].shape == (1, 4, 40, 8)
    assert load(text, size="5").tensors["a.a.weight"].shape == (2, 3, 5, 5)


def test_repeating_no_time_hands_the_input_on(load):
    graph = load(layers("name = 'a', op = 'relu', repeat = 0", "name = 'b', op = 'relu', from = 'a'"))
    assert [node.inputs for node in graph.nodes] == [("x",)]


def test_text_attributes_and_words(load):
    text = layers(
        "name = 'a', op = 'conv', out = 4, kernel = 3, stride = 2, padding = 'same_upper'",
        "name = 'b', op = 'conv', out = 4, kernel = 3, padding = [0, 1, 2, 1]",
        "name = 'c', op = 'einsum', from = ['b', 'b'], equation = \"'ncij,ncjk->ncik'\"",
    )
    graph = load(text)
    assert graph.tensors["a"].shape == (1, 4, 4, 4)
    assert graph.tensors["b"].shape == (1, 4, 4, 4)
    assert graph.tensors["c"].shape == (1, 4, 4, 4)


def test_outputs_of_one_layer_and_shared_weights(load):
    graph = load(
        layers(
            "name = 'embed', op = 'linear', out = 8",
            "name = 'halves', op = 'split', axis = 3, sizes = [3, 5]",
            "name = 'right', op = 'relu', from = 'halves:1'",
            "name = 'again', op = 'linear', from = 'x', weights = { w = \"'embed.weight'\" }",
        )
    )
    assert graph.tensors["right"].shape == (1, 3, 8, 5)
    assert dict(graph.nodes[-1].operands) == {"x": "x", "w": "embed.weight"}
    assert set(shapes(graph)) == {"embed.weight", "embed.bias"}


def test_all_faults_of_a_file_at_once(load):
    text = """
name = "net"
sorce = "a test"
inputs = [{ name = "x y", shape = [1, "hieght"] }, { name = "z", shape = 3, dtype = "float33" }]
outputs = ["nobody"]
parameters.height = { default = 3, minimum = 5, typo = 1 }
parameters.index = 3
parameters.head = { default = "a", choices = ["b"] }
let.twice = "2 * hight"
layers = [
  { name = "conv 1", op = "conv" },
  { op = "relu" },
  { name = "a", op = "relo" },
  { name = "b", op = "conv", out = "3 *", kernel = [1, "x["], strid = 2 },
  { name = "c", op = "conv", out = "wide", kernal = 3 },
  { name = "c", op = "relu", from = "bb" },
  { name = "d", block = "blok" },
  { name = "e", block = "block", kernel = 1 },
  { name = "f", op = "relu", block = "block" },
  { name = "g" },
  { name = "h{index}", op = "relu", repeat = true, when = 3.5 },
  { name = "i", op = "relu", weights = { w = [1] } },
  3,
]
blocks.block = { parameters = ["out", "height"], layers = [{ name = "a", op = "relu", slope = 1 }] }
blocks.loop = { layers = [{ name = "a", block = "pool" }] }
blocks.pool = { layers = [{ name = "a", block = "loop" }] }
blocks.none = { layers = [] }
"""
    with pytest.raises(BadSpec) as caught:
        load(text)
    found = {detail.partition(": ")[0] for detail in caught.value.details}
    assert found >= {
        "$",
        "$.source",
        "$.inputs[0].name",
        "$.inputs[1].shape",
        "$.inputs[1].dtype",
        "$.parameters.height",
        "$.parameters.head",
        "$.let.twice",
        "$.layers[0].name",
        "$.layers[1].name",
        "$.layers[2].op",
        "$.layers[3].out",
        "$.layers[3].kernel",
        "$.layers[4].out",
        "$.layers[4].kernal",
        "$.layers[4]",
        "$.layers[5].from",
        "$.layers[5].name",
        "$.layers[6].block",
        "$.layers[7]",
        "$.layers[7].kernel",
        "$.layers[8]",
        "$.layers[9]",
        "$.layers[11].weights",
        "$.layers[12]",
        "$.blocks.block",
        "$.blocks.block.layers[0].slope",
        "$.blocks.loop",
        "$.blocks.pool",
        "$.blocks.none.layers",
    }
    text = str(caught.value)
    for hint in ("did you mean relu?", "did you mean kernel?", "did you mean block?", "the keys here are"):
        assert hint in text
    assert str(Path("net.toml")) in text.splitlines()[0]


SHAPES = {
    "name = 'a', op = 'conv', out = 4, kernel = 9": "does not fit",
    "name = 'a', op = 'conv', out = 4, kernel = 0": "kernel must be a whole number of at least 1",
    "name = 'a', op = 'conv', out = '8 / 2', kernel = 1": "out must be a whole number of at least 1, not 4.0",
    "name = 'a', op = 'conv', out = 4, kernel = 1, groups = 2": "3 input channels do not divide into 2 groups",
    "name = 'a', op = 'conv', out = '1 // 0', kernel = 1": "divides by zero",
    "name = 'a', op = 'conv', out = 4, kernel = 1, bias = 1": "bias must be true or false",
    "name = 'a', op = 'add'": "lacks its operand",
    "name = 'a', op = 'relu', from = ['x', 'x']": "reads 1 tensors, not 2",
    "name = 'a', op = 'relu', when = '1 + 1'": "when must be true or false",
    "name = 'a', op = 'relu', repeat = '1 - 2'": "repeat must be a whole number",
    "name = 'a', op = 'linear', out = 9000000000000000000": "dimension",
    "name = 'a', op = 'linear', weights = { w = 3 }": "must be a shape",
    "name = 'a', op = 'linear', weights = { w = [3, true] }": "a dimension must be a whole number",
    "name = 'a', op = 'linear', weights = { w = \"'b.weight'\" }": "there is no tensor 'b.weight'",
    "name = 'a{1}', op = 'relu', repeat = 2": "",
    "name = 'a', op = 'batch_norm', affine = 3": "affine must be true or false",
    "name = 'a', op = 'max_pool', kernel = 3, stride = 1, padding = 'sane'": "padding",
}


@pytest.mark.parametrize(("line", "said"), SHAPES.items())
def test_what_does_not_fit_names_its_layer(load, line, said):
    with pytest.raises(BadSpec) as caught:
        load(layers("name = 'first', op = 'relu'", line))
    assert said in str(caught.value)
    assert "net.toml: $.layers[1] (a" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_faults_inside_blocks_name_the_full_layer(load):
    with pytest.raises(BadSpec, match=r"\$\.blocks\.residual\.layers\[0\] \(s\.0\.a\)"):
        load(layers("name = 's', block = 'residual', repeat = 2, out = 1", more=BLOCKS, top=PARAMETERS))


REFUSED: dict[str, bytes] = {
    "empty": b"",
    "no text": b"\xff\xfe\x00",
    "no toml": b"name = ",
    "a long number": b"a = " + b"9" * 100_000,
    "deep lists": b"a = " + b"[" * 200_000,
    "deep tables": b"a = " + b"{a=" * 100_000,
    "deep keys": b".".join([b"a"] * 200_000) + b" = 1",
    "many deep keys": b"\n".join(b".".join([b"a"] * 300 + [b"b%d" % i]) + b" = 1" for i in range(1500)),
    "too large": b"#" * ((1 << 20) + 1),
    "not a number": b"a = nan",
    "huge dimension": layers("name = 'a', op = 'relu'").replace("8, 8", "8, 9223372036854775807").encode(),
    "zero dimension": layers("name = 'a', op = 'relu'").replace("8, 8", "8, 0").encode(),
    "negative dimension": layers("name = 'a', op = 'relu'").replace("8, 8", "8, -1").encode(),
    "a scalar": layers("name = 'a', op = 'conv', out = 1, kernel = 1").replace("[1, 3, 8, 8]", "[]").encode(),
    "controls in a name": layers("name = 'a\\u202e\\u0007', op = 'relu'").replace("'", '"').encode(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_files_are_refused_quickly(load, name):
    started = time.perf_counter()
    with pytest.raises(BadSpec) as caught:
        load(REFUSED[name])
    assert time.perf_counter() - started < 10
    assert str(caught.value).replace("\n", "").isprintable()
    assert len(str(caught.value)) < 3000


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(BadSpec, match="cannot be read: No such file"):
        load_toml(tmp_path / "absent.toml")
    with pytest.raises(BadSpec, match="cannot be read"):
        load_toml(tmp_path)


def test_networks_cannot_grow_without_end(load):
    many = layers("name = 'a', op = 'relu', repeat = 1000000")
    nested = layers("name = 'a', block = 'b0', repeat = 1000") + "".join(
        f"[blocks.b{i}]\nlayers = [{{ name = 'a', block = 'b{i + 1}', repeat = 1000 }}]\n" for i in range(20)
    )
    nested += "[blocks.b20]\nlayers = [{ name = 'a', op = 'relu', when = false }]\n"
    wide = layers("name = 'a', block = 'c0'") + "".join(
        f"[blocks.c{i}]\nlayers = [{{ name = 'a', block = 'c{i + 1}' }}, {{ name = 'b', block = 'c{i + 1}' }}]\n"
        for i in range(30)
    )
    wide += "[blocks.c30]\nlayers = [{ name = 'a', op = 'relu' }]\n"
    for text in (many, nested, wide):
        started = time.perf_counter()
        with pytest.raises(BadSpec, match="100,000"):
            load(text)
        assert time.perf_counter() - started < 20


def test_blocks_nested_too_deeply(load):
    chain = layers("name = 'a', block = 'b0'") + "".join(
        f"[blocks.b{i}]\nlayers = [{{ name = 'a', block = 'b{i + 1}' }}]\n" for i in range(2000)
    )
    chain += "[blocks.b2000]\nlayers = [{ name = 'a', op = 'relu' }]\n"
    with pytest.raises(BadSpec, match="more than 32 deep"):
        load(chain)


def test_long_networks_load_in_linear_time(load):
    def seconds(count: int) -> float:
        started = time.perf_counter()
        graph = load(layers(f"name = 'a', op = 'conv', out = 3, kernel = 1, repeat = {count}"))
        assert len(graph.nodes) == count
        return time.perf_counter() - started

    assert MAX_LAYERS == 100_000
    seconds(10)
    assert seconds(8000) < 8 * max(seconds(2000), 0.02)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_mutated_files_load_or_are_refused(load, data):
    text = layers(
        "name = 's{index}', block = 'residual', repeat = 2, out = '8 * size'",
        "name = 'o', op = 'relu', from = 's0'",
        more='outputs = ["o"]\n' + BLOCKS,
        top=PARAMETERS,
    )
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + data.draw(st.text(max_size=6) | st.sampled_from(list('"[]{}=,.\n0'))) + text[end:]
    try:
        load(text.encode("utf-8", "surrogatepass"))
    except BadSpec as error:
        assert str(error).startswith("/")
