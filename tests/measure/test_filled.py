"""The values of inputs: those that nobody gave, and files of all kinds."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from weighbridge.errors import BadSpec
from weighbridge.measure.runners.filled import filled


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floating_point_is_filled_with_normal_numbers(dtype: str) -> None:
    values, how = filled("x", (64, 64), dtype, {})
    assert (values.dtype.name, values.shape, how) == (dtype, (64, 64), "normal numbers")
    assert abs(float(values.mean())) < 0.1
    assert 0.9 < float(values.std()) < 1.1


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "bool"])
def test_whole_numbers_are_ones_which_are_tokens_masks_and_indices(dtype: str) -> None:
    values, how = filled("x", (2, 3), dtype, {})
    assert (values.dtype.name, how) == (dtype, "ones")
    assert values.all()


def test_a_scalar_is_an_array_too() -> None:
    values, _ = filled("x", (), "float32", {})
    assert isinstance(values, np.ndarray)
    assert values.shape == ()


def test_inputs_differ_and_each_is_the_same_every_time() -> None:
    one, again, other = (filled(name, (8,), "float32", {})[0] for name in ("x", "x", "y\udc80"))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("shape", [(1 << 61,), (1 << 40, 1 << 40), (1 << 60, 4)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_a_shape_of_more_bytes_than_can_be_counted_is_a_lack_of_memory(shape: tuple[int, ...], dtype: str) -> None:
    with pytest.raises(MemoryError):
        filled("x", shape, dtype, {})


def test_a_file_of_other_types_and_shapes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    for array in (np.zeros((2, 3)), np.zeros((2, 3), ">f4"), np.zeros((3, 2), "float32"), np.float32(1)):
        np.save(path, array)
        with pytest.raises(BadSpec, match=r"x\.npy has .*, not 2x3 float32"):
            filled("x", (2, 3), "float32", {"x": str(path)})
    np.save(path, np.full((2, 3), 7, "float32"))
    assert filled("x", (2, 3), "float32", {"x": str(path)})[0].sum() == 42


def test_a_file_that_is_no_array_is_refused_and_nothing_in_it_is_unpickled(tmp_path: Path) -> None:
    path, opened = tmp_path / "x.npy", tmp_path / "opened"

    class Opens:
        def __reduce__(self) -> tuple[object, tuple[str, str]]:
            return open, (str(opened), "w")

    np.savez(tmp_path / "many.npz", x=np.ones(3, "float32"))
    np.save(tmp_path / "objects.npy", np.array([Opens()], dtype=object), allow_pickle=True)
    np.save(tmp_path / "whole.npy", np.zeros(3, "float32"))
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    contents = [(tmp_path / name).read_bytes() for name in ("many.npz", "objects.npy", "empty.zip")]
    whole = (tmp_path / "whole.npy").read_bytes()
    contents += [b"", b"no array", b"PK\x03\x04", pickle.dumps(Opens()), *(whole[:end] for end in (4, 8, 30, 130))]
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(BadSpec, match=r"has no values: .*give a \.npy file"):
            filled("x", (3,), "float32", {"x": str(path)})
    for other in (tmp_path, tmp_path / "none.npy"):
        with pytest.raises(BadSpec, match="has no values"):
            filled("x", (3,), "float32", {"x": str(other)})
    assert not opened.exists()
