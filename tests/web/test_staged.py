"""An upload is nowhere before it is kept, and the files of its weights lie where it says, and nowhere else."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from weighbridge.errors import BadSpec
from weighbridge.web.shelf import Shelf


def location(name: bytes) -> bytes:
    """The bytes by which an ONNX model says that weights are in this file."""
    return b"\x0a\x08location\x12" + bytes([len(name)]) + name


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


@pytest.fixture
def shelf(tmp_path: Path, scratch: Path) -> Iterator[Shelf]:
    yield Shelf(tmp_path, scratch, most_bytes=1000)


def test_an_upload_goes_when_it_is_not_kept(shelf: Shelf, scratch: Path) -> None:
    with shelf.staged("a.onnx", io.BytesIO(b"x")) as one:
        assert (one.folder / "a.onnx").read_bytes() == b"x"
        assert shelf.models() == ()
    assert list(scratch.iterdir()) == []
    with pytest.raises(ZeroDivisionError), shelf.staged("a.onnx", io.BytesIO(b"x")):
        raise ZeroDivisionError
    assert list(scratch.iterdir()) == []


def test_an_upload_that_is_kept_stays_and_is_kept_once(shelf: Shelf, scratch: Path) -> None:
    for _ in range(2):
        with shelf.staged("a.onnx", io.BytesIO(b"x")) as one:
            kept = shelf.keep(one)
        assert shelf.models() == (kept,)
        assert list(scratch.iterdir()) == [kept.folder]
    assert (kept.folder / "a.onnx").read_bytes() == b"x"


def test_one_that_is_not_kept_leaves_the_same_one_that_is(shelf: Shelf) -> None:
    kept = shelf.add_model("a.onnx", io.BytesIO(b"x"))
    with shelf.staged("a.onnx", io.BytesIO(b"x")) as one:
        assert one.id == kept.id
        assert one.folder != kept.folder
    assert (shelf.model(kept.id).folder / "a.onnx").read_bytes() == b"x"


def test_files_of_weights_lie_where_the_model_says(shelf: Shelf) -> None:
    model = location(b"weights/w.bin") + location(b"./v.bin")
    beside = {"w.bin": io.BytesIO(b"ww"), "v.bin": io.BytesIO(b"v")}
    with shelf.staged("a.onnx", io.BytesIO(model), beside) as one:
        assert (one.folder / "weights" / "w.bin").read_bytes() == b"ww"
        assert (one.folder / "v.bin").read_bytes() == b"v"
        assert one.size_bytes == len(model) + 3
        first = shelf.keep(one)
    assert shelf.add_model("a.onnx", io.BytesIO(model)).id != first.id


@pytest.mark.parametrize(
    "said",
    [b"../w.bin", b"/tmp/w.bin", b"..\\w.bin", b"C:w.bin", b"other.bin", b"a/" * 60 + b"w.bin", b"a/../../w.bin"],
)
def test_a_file_that_a_model_puts_elsewhere_is_not_written(said: bytes, shelf: Shelf, scratch: Path) -> None:
    sent = {"w.bin": io.BytesIO(b"w")}
    with (
        pytest.raises(BadSpec, match=r"a\.onnx keeps none of its weights in 'w\.bin'"),
        shelf.staged("a.onnx", io.BytesIO(location(said)), sent),
    ):
        pass
    assert list(scratch.iterdir()) == []
    assert not list(scratch.parent.rglob("*w.bin"))


def test_what_cannot_be_written_is_an_error_of_ours(shelf: Shelf, scratch: Path) -> None:
    """A model that says that its weights are in a folder of its own name."""
    sent = {"w.bin": io.BytesIO(b"w")}
    with (
        pytest.raises(BadSpec, match="the upload cannot be kept"),
        shelf.staged("a.onnx", io.BytesIO(location(b"a.onnx/w.bin")), sent),
    ):
        pass
    assert list(scratch.iterdir()) == []


def test_files_of_weights_count_for_the_room_that_there_is(shelf: Shelf) -> None:
    sent = {"w.bin": io.BytesIO(b"w" * 1000)}
    with (
        pytest.raises(BadSpec, match=r"larger than the 1,000 B"),
        shelf.staged("a.onnx", io.BytesIO(location(b"w.bin")), sent),
    ):
        pass
