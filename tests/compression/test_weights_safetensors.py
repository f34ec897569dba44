"""safetensors files: every type, what is taken for a weight, and files that lie about themselves."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import safetensors
from safetensors.numpy import save_file

import weighbridge
from weighbridge.cli.main import main
from weighbridge.errors import BadModel
from weighbridge.frontends import weights_safetensors
from weighbridge.frontends.weights_safetensors import tensors_of

NUMBERS = np.random.default_rng(5).standard_normal((30, 20))


def saved(folder: Path, **tensors: np.ndarray) -> Path:
    path = folder / "model.safetensors"
    save_file({name.replace("_", "."): np.ascontiguousarray(one) for name, one in tensors.items()}, path)
    return path


def headed(folder: Path, head: object, data: bytes = b"", size: int | None = None) -> Path:
    """A file with this head, and its size or the one that it claims."""
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(text) if size is None else size) + text + data)
    return path


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint8", "int64", "bfloat16"])
def test_values(tmp_path: Path, dtype: str) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    numbers = np.clip(NUMBERS * 9, 0, 100).astype(kind)
    (tensor,) = tensors_of(saved(tmp_path, fc_weight=numbers))
    assert (tensor.name, tensor.shape, tensor.dtype.name) == ("fc.weight", (30, 20), dtype)
    assert tensor.stored.read is not None
    np.testing.assert_array_equal(tensor.stored.read().astype(np.float64), numbers.astype(np.float64).reshape(-1))


def test_what_has_two_dimensions_is_a_weight(tmp_path: Path) -> None:
    numbers = NUMBERS.astype(np.float32)
    path = saved(
        tmp_path,
        conv_weight=numbers.reshape(5, 3, 8, 5),
        conv_bias=np.ones(5, np.float32),
        norm_weight=np.ones(5, np.float32),
        norm_bias=np.ones(5, np.float16),
        norm_running_mean=np.ones(5, np.float32),
        table=numbers,
    )
    path_of = {layer.name: layer for layer in weighbridge.compress(path).layers}
    found = weighbridge.compress(path)
    assert list(path_of) == ["conv", "table"]
    assert (path_of["conv"].elements, path_of["conv"].biases, path_of["conv"].bias_bits) == (600, 5, 160)
    assert found.others.elements == 5 + 5 + 5  # "running.mean" is how the name was written
    assert found.others.bits == 5 * 32 + 5 * 16 + 5 * 32
    assert any("no graph" in note for note in found.notes)


def test_targets_are_names_layers_and_patterns(tmp_path: Path) -> None:
    numbers = NUMBERS.astype(np.float32)
    path = saved(tmp_path, a_0_weight=numbers, a_1_weight=numbers, b_weight=numbers)
    found = weighbridge.compress(path, keep={"a.*": 0.5, "last": 0.25, "rest": 0.75, "a.1.weight": 0.1}, codebook=3)
    assert [float(layer.kept_share) for layer in found.layers] == [0.5, 0.1, 0.25]
    with pytest.raises(weighbridge.BadSpec, match="called 'c'"):
        weighbridge.compress(path, keep={"c": 0.5})
    with pytest.raises(weighbridge.BadSpec, match="no inputs"):
        weighbridge.compress(path, batch=1)


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [("F8_E4M3", 8), ("F8_E5M2", 8), ("F8_E8M0", 8), ("F6_E2M3", 6), ("F4", 4), ("BOOL", 8), ("C64", 64)],
)
def test_values_that_are_not_read_are_told(tmp_path: Path, dtype: str, bits: int) -> None:
    """They count as they are held, be they weights or not."""
    entry = {"dtype": dtype, "shape": [8, 2], "data_offsets": [0, 2 * bits]}
    scale = {"dtype": dtype, "shape": [8], "data_offsets": [2 * bits, 3 * bits]}
    found = weighbridge.compress(headed(tmp_path, {"w": entry, "scale": scale}, bytes(3 * bits)))
    assert (found.layers[0].basis, found.layers[0].bits, found.is_exact) == ("not read", 16 * bits, False)
    assert found.total.other_bits == 8 * bits
    assert any(dtype in note for note in found.notes)


def test_a_type_of_a_later_library_takes_what_the_file_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(weights_safetensors._NAMES, "F6_E2M3")
    path = headed(tmp_path, {"w": {"dtype": "F6_E2M3", "shape": [8, 2], "data_offsets": [0, 12]}}, bytes(12))
    (layer,) = weighbridge.compress(path).layers
    assert (layer.basis, layer.bits, layer.dtype) == ("not read", 96, "F6_E2M3")


def test_a_file_that_memory_does_not_hold_is_not_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise safetensors.SafetensorError("Cannot allocate memory (os error 12)")

    monkeypatch.setattr(safetensors, "safe_open", refuse)
    with pytest.raises(BadModel, match="does not fit into the memory of this machine"):
        weighbridge.compress(headed(tmp_path, {"w": ENTRY}, bytes(16)))


ENTRY = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}


@pytest.mark.parametrize(
    ("head", "data", "size"),
    [
        ({"w": ENTRY}, bytes(16), 2**31),
        ({"w": ENTRY}, bytes(16), 2**31 - 9),
        ({"w": ENTRY}, bytes(16), 0),
        ({"w": ENTRY}, bytes(15), None),
        ({"w": ENTRY}, bytes(17), None),
        ({"w": {**ENTRY, "data_offsets": [0, 2**63]}}, bytes(16), None),
        ({"w": {**ENTRY, "data_offsets": [16, 0]}}, bytes(16), None),
        ({"w": {**ENTRY, "shape": [2**40, 2**40]}}, bytes(16), None),
        ({"w": {**ENTRY, "shape": [-2, 2]}}, bytes(16), None),
        ({"w": ENTRY, "v": ENTRY}, bytes(16), None),
        ({"w": {**ENTRY, "dtype": "F33"}}, bytes(16), None),
        ({"w": {"dtype": "F32", "shape": [1] * 100_000, "data_offsets": [0, 4]}}, bytes(4), None),
        ({"w": {"dtype": "F32", "shape": [0, 2**62], "data_offsets": [0, 0]}}, b"", None),
        ({"w": 3}, b"", None),
        (b"{" + b'"a":{' * 50_000, b"", None),
        (b'{"w":', b"", None),
    ],
)
def test_damaged_files_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], head: object, data: bytes, size: int | None
) -> None:
    path = headed(tmp_path, head, data, size)
    assert main(["compress", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("weighbridge: error: model.safetensors: ")
    assert said.err.count("\n") == 1


def test_a_file_without_weights(tmp_path: Path) -> None:
    with pytest.raises(BadModel, match="no weights"):
        weighbridge.compress(headed(tmp_path, {}))
