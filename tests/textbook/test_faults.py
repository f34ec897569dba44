from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.steps import steps
from tests.textbook.files import BLOCKS, PARAMETERS, TOP, layers
from weighbridge.errors import BadSpec
from weighbridge.frontends.from_toml import load_toml
from weighbridge.frontends.toml_build import MAX_LAYERS
from weighbridge.handwritten import parse_toml


def test_all_faults_of_a_file_at_once(load):
    text = """
name = "net"
sorce = "a test"
inputs = [{ name = "x y", shape = [1, "hieght"] }, { name = "z", shape = 3, dtype = "float33" }]
outputs = ["nobody"]
parameters.height = { default = 3, minimum = 5, typo = 1 }
parameters.depth = { default = 3, minimum = 5 }
parameters.index = 3
parameters.head = { default = "a", choices = ["b"] }
let.twice = "2 * hight"
layers = [
  { name = "conv 1", op = "conv" },
  { op = "relu" },
  { name = "a", op = "relo" },
  { name = "b", op = "conv", out = "3 *", kernel = [1, "x["], strid = 2, from = "nowhere", when = "]" },
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
        "$.sorce",
        "$.source",
        "$.inputs[0].name",
        "$.inputs[1].shape",
        "$.inputs[1].dtype",
        "$.parameters.height.typo",
        "$.parameters.depth",
        "$.parameters.head",
        "$.parameters.index",
        "$.let.twice",
        "$.layers[0].name",
        "$.layers[1].name",
        "$.layers[2].op",
        "$.layers[3].out",
        "$.layers[3].kernel[1]",
        "$.layers[3].strid",
        "$.layers[3].from",
        "$.layers[3].when",
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
    "name = 'a{1}', op = 'relu', repeat = 2": "'a1' already",
    "name = 'a{0 - 1}', op = 'relu'": "'a-1' is no name",
    "name = 'a', op = 'unsqueeze', axes = [0], repeat = 90000": "dimensions",
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


@pytest.mark.parametrize(("name", "there"), [("zzz", "x, first"), ("first.7", "x, first.0, first.1, first")])
def test_a_name_that_nothing_has_is_answered_with_those_there_are(load, name, there):
    with pytest.raises(BadSpec) as caught:
        load(layers("name = 'first', op = 'relu', repeat = 2", f"name = 'a', op = 'relu', from = '{name}'"))
    assert str(caught.value).endswith(f"; it can read {there}")


def test_a_layer_is_named_once(load):
    with pytest.raises(BadSpec) as caught:
        load(layers("name = 'a', op = 'conv', out = 4, kernel = 3, repeat = 9"))
    assert "$.layers[0] (a." in str(caught.value)
    assert str(caught.value).count("a.") == 1


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
def test_bad_files_are_refused(load, name):
    with pytest.raises(BadSpec) as caught:
        load(REFUSED[name])
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
        f"[blocks.b{i}]\nlayers = [{{ name = 'a', block = 'b{i + 1}', repeat = 1000 }}]\n" for i in range(14)
    )
    nested += "[blocks.b14]\nlayers = [{ name = 'a', op = 'relu', when = false }]\n"
    wide = layers("name = 'a', block = 'c0'") + "".join(
        f"[blocks.c{i}]\nlayers = [{{ name = 'a', block = 'c{i + 1}' }}, {{ name = 'b', block = 'c{i + 1}', repeat = 2 }}]\n"
        for i in range(15)
    )
    wide += "[blocks.c15]\nlayers = [{ name = 'a', op = 'relu' }]\n"
    for text in (many, nested, wide):
        with pytest.raises(BadSpec, match="100,000"):
            load(text)


def test_hostile_files_of_every_size_are_refused(load):
    many = range(12_000)
    hostile = {
        "references into nowhere": layers(*(f"name = 'a{i}', op = 'relu', from = 'x{i}.b.c'" for i in many)),
        "patterns and references": layers(*(f"name = 'a{{{i}}}', op = 'relu', from = 'b.{i}'" for i in many)),
        "unknown words": layers(*(f"name = 'a{i}', op = 'conv', out = 'n{i}', kernel = 1" for i in many)),
        "unknown operators": layers(*(f"name = 'a{i}', op = 'relu{i}'" for i in many)),
        "unknown arguments": layers("name = 'a', op = 'conv', " + ", ".join(f"k{i} = 1" for i in many)),
        "many parameters": layers("name = 'a', op = 'relu'", top=TOP + "".join(f"parameters.p{i} = 1\n" for i in many)),
        "wide reads": layers(f"name = 'a', op = 'concat', axis = 1, repeat = 90000, from = {['x'] * 256}"),
        "wider reads": layers(f"name = 'a', op = 'concat', axis = 1, from = {['x'] * 100_000}"),
        "long lists": layers(f"name = 'a', op = 'reshape', shape = {[1] * 100_000}, repeat = 90000"),
        "one word twice": layers("name = 'a', op = 'relu'")
        + f"[blocks.b]\nparameters = {['a'] * 50_000}\nlayers = [{{ name = 'a', op = 'relu' }}]\n",
    }
    for name, text in hostile.items():
        with pytest.raises(BadSpec) as caught:
            load(text)
        assert len(str(caught.value)) < 60_000, name


def test_blocks_nested_too_deeply(load):
    chain = layers("name = 'a', block = 'b0'") + "".join(
        f"[blocks.b{i}]\nlayers = [{{ name = 'a', block = 'b{i + 1}' }}]\n" for i in range(2000)
    )
    chain += "[blocks.b2000]\nlayers = [{ name = 'a', op = 'relu' }]\n"
    with pytest.raises(BadSpec, match="more than 16 deep"):
        load(chain)


def test_long_networks_load_in_linear_time(load):
    def of(count: int) -> int:
        text = layers(f"name = 'a', op = 'conv', out = 3, kernel = 1, repeat = {count}")
        assert len(load(text).nodes) == count
        return steps(lambda: load(text))

    assert MAX_LAYERS == 100_000
    assert of(4000) < 4.4 * of(1000)


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


def test_a_byte_order_mark_is_passed_over() -> None:
    text = b'name = "n"\nsource = "s"\n'
    assert parse_toml(b"\xef\xbb\xbf" + text, "net.toml", "a network file") == {"name": "n", "source": "s"}
