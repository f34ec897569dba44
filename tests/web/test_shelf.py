"""What the app keeps: every name that could lead elsewhere, what takes room and for how long, and what is left at the end."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.web.client import ask, fresh
from weighbridge.errors import BadSpec
from weighbridge.web.shelf import Shelf, opened

DEVICE = b'name = "mine"\ntitle = "Mine"\nkind = "mcu"\n'


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    (tmp_path / "folder").mkdir()
    (tmp_path / "scratch").mkdir()
    (tmp_path / "secret.json").write_text("secret")
    yield Shelf(tmp_path / "folder", tmp_path / "scratch", most_bytes=1000)


def added(shelf: Shelf, name: str, content: bytes = b"x") -> str:
    model = shelf.add_model(name, io.BytesIO(content))
    assert model.folder.parent == shelf._scratch
    assert [one.name for one in model.folder.iterdir()] == [model.name]
    assert (model.folder / model.name).read_bytes() == content
    return model.name


# --- names of reports and devices

BAD_NAMES = [
    *("", ".", "..", "../secret", "..\\secret", "/etc/passwd", "a/b", "a\\b", "C:a", "a:b", "a\0", "a\n", "\n", "a "),
    *(
        "a.",
        ".a",
        "-a",
        " a",
        "con",
        "CON",
        "nul.json",
        "Aux.x",
        "com1",
        "LPT9.txt",
        "x" * 81,
        "ä",
        "a\u202eb",
        "a\u200b",
    ),
    *("a*", "a?", "a<b", "a|b", 'a"b', "~", "$HOME", "%2e%2e", "a%00", "\ud800"),
]


@pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
def test_a_name_that_could_lead_elsewhere_is_none(name: str, shelf: Shelf) -> None:
    for wanted in (
        lambda: shelf.report(name),
        lambda: shelf.device_file(name),
        lambda: shelf.save_report(name, b"{}"),
    ):
        with pytest.raises(BadSpec, match="is no name here; letters, digits") as caught:
            wanted()
        assert str(caught.value).isprintable()
    assert list(shelf.folder.iterdir()) == []


@pytest.mark.parametrize("name", ["a", "A b", "x (2)", "v1.2+cpu", "0", "x" * 80, "console", "nul1", "a..b"])
def test_any_other_is_the_name_of_a_file(name: str, shelf: Shelf) -> None:
    assert shelf.save_report(name, b"{1}") == name
    assert shelf.report(name) == b"{1}"
    assert [one.name for one in shelf.reports()] == [name]
    assert (shelf.folder / f"{name}.json").read_bytes() == b"{1}"


def test_a_name_that_is_taken_gets_a_number(shelf: Shelf) -> None:
    long = "x" * 80
    assert [shelf.save_report("a", b"1"), shelf.save_report("a", b"2"), shelf.save_report("a", b"3")] == [
        "a",
        "a-2",
        "a-3",
    ]
    assert [shelf.save_report(long, b"1"), shelf.save_report(long, b"2")] == [long, f"{'x' * 70}-2"]
    assert (shelf.report("a"), shelf.report("a-3")) == (b"1", b"3")


def test_as_many_that_save_at_once_have_as_many_names(shelf: Shelf) -> None:
    with ThreadPoolExecutor(8) as threads:
        names = list(threads.map(lambda number: shelf.save_report("a", str(number).encode()), range(40)))
    assert len(set(names)) == 40
    assert [shelf.report(name) for name in names] == [str(number).encode() for number in range(40)]


def test_what_is_no_file_of_the_folder_is_not_listed_and_not_read(shelf: Shelf, tmp_path: Path) -> None:
    (shelf.folder / "link.json").symlink_to(tmp_path / "secret.json")
    (shelf.folder / "folder.json").mkdir()
    (shelf.folder / "ä.json").write_text("{}")
    (shelf.folder / "other.txt").write_text("{}")
    os.mkfifo(shelf.folder / "pipe.json")
    assert shelf.reports() == ()
    for name in ("link", "folder", "pipe", "nothing"):
        with pytest.raises(BadSpec, match="there is no saved report"):
            shelf.report(name)


def test_what_is_too_large_is_not_read(shelf: Shelf) -> None:
    with (shelf.folder / "large.json").open("wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(BadSpec, match="it is larger than 67,108,864 B"):
        shelf.report("large")
    with (shelf.folder / "large.toml").open("wb") as file:
        file.truncate((1 << 20) + 1)
    with pytest.raises(BadSpec, match="it is larger than 1,048,576 B"):
        shelf.device_file("large")


def test_a_disk_that_is_full_leaves_no_half_of_a_file(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    opened_at = Path.open

    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(28, "No space left on device")

    def full(path: Path, mode: str = "r") -> object:
        opened_at(path, mode).close()  # the file is there, and nothing more goes into it
        return Full()

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", full)
        with pytest.raises(BadSpec, match="cannot be written: No space left on device"):
            shelf.save_report("a", b"{}")
        with pytest.raises(BadSpec, match="the upload cannot be kept: No space left on device"):
            shelf.add_model("a.onnx", io.BytesIO(b"x"))
    assert list(shelf.folder.iterdir()) == []
    assert list(shelf._scratch.iterdir()) == []


def test_a_folder_that_has_gone_is_said(shelf: Shelf) -> None:
    shelf.folder.rmdir()
    assert shelf.reports() == ()
    with pytest.raises(BadSpec, match="cannot be written: No such file or directory"):
        shelf.save_report("a", b"{}")


def test_a_device_file_with_faults_is_not_kept(shelf: Shelf) -> None:
    for content in (DEVICE, b"\xff", b"[" * 1_000_000, b"x" * (2 << 20)):
        with pytest.raises(BadSpec):
            shelf.save_device(content)
    assert shelf.devices() == ()


# --- names of uploads

UPLOADS = {
    "model.onnx": "model.onnx",
    "../../etc/passwd": "passwd",
    "..\\..\\evil.onnx": "evil.onnx",
    "/abs/a.onnx": "a.onnx",
    "C:\\models\\a.onnx": "a.onnx",
    "a:b.onnx": "a_b.onnx",
    "torchvision:resnet50": "torchvision_resnet50",
    "torchvision": "_torchvision",
    "transformers": "_transformers",
    "alexnet": "alexnet",
    "x.py": "x.py",
    "": "model",
    ".": "model",
    "..": "model",
    "...": "model",
    "/": "model",
    " ": "model",
    ".onnx": ".onnx",
    "._a.tflite": "._a.tflite",
    "..a": "..a",
    " .a. ": ".a",
    "a.onnx.": "a.onnx",
    "a.onnx ": "a.onnx",
    "con": "_con",
    "NUL.onnx": "_NUL.onnx",
    "a\0b.onnx": "a_b.onnx",
    "a\nb\x1b[31m.onnx": "a_b_[31m.onnx",
    "a\u202eb\u2066.onnx": "a_b_.onnx",
    'a<b>"|?*.onnx': "a_b_____.onnx",
    "\ud800.onnx": "_.onnx",
    "模型.onnx": "模型.onnx",
    "é" * 200 + ".onnx": "é" * 57 + ".onnx",
    "x" * 5000 + "." + "y" * 5000: "x" * 100 + "." + "y" * 19,
}


@pytest.mark.parametrize("name", UPLOADS, ids=lambda name: ascii(name)[:24])
def test_an_upload_is_called_as_it_was_where_a_file_can_be(name: str, shelf: Shelf) -> None:
    assert added(shelf, name) == UPLOADS[name]
    assert len(UPLOADS[name].encode()) <= 120


# --- uploads


def test_other_content_or_another_name_is_another_upload(shelf: Shelf) -> None:
    """Also where the one ends with what the other's name begins with."""
    several = [
        ("a.onnx", b"1"),
        ("b.onnx", b"1"),
        ("a.onnx", b"2"),
        ("a.onnx", b"xb"),
        ("ba.onnx", b"x"),
        ("a.onnx", b"xb\0"),
    ]
    found = {shelf.add_model(name, io.BytesIO(content)).id for name, content in several}
    assert len(found) == len(several)


def test_the_oldest_go_for_new_ones(shelf: Shelf) -> None:
    first, second = (shelf.add_model(f"{name}.onnx", io.BytesIO(b"x" * 400)) for name in "ab")
    assert shelf.add_model("a.onnx", io.BytesIO(b"x" * 400)).id == first.id  # asked for again, it is the newest
    third = shelf.add_model("c.onnx", io.BytesIO(b"x" * 400))
    assert [one.id for one in shelf.models()] == [third.id, first.id]
    assert not second.folder.exists()
    with pytest.raises(BadSpec, match="this model is not here any more; upload it again"):
        shelf.model(second.id)


def test_no_more_than_two_hundred_are_kept(shelf: Shelf) -> None:
    for number in range(203):
        shelf.add_model(f"{number}.onnx", io.BytesIO(b""))
    assert [one.name for one in shelf.models()] == [f"{number}.onnx" for number in range(202, 2, -1)]
    assert len(list(shelf._scratch.iterdir())) == 200


def test_one_that_is_larger_than_all_room_is_none(shelf: Shelf) -> None:
    kept = shelf.add_model("a.onnx", io.BytesIO(b"x" * 1000))
    with pytest.raises(BadSpec, match="this is larger than the 1,000 B that uploads may take"):
        shelf.add_model("b.onnx", io.BytesIO(b"x" * 1001))
    assert shelf.models() == (kept,)
    assert list(shelf._scratch.iterdir()) == [kept.folder]


def test_many_uploads_at_once_take_no_more_than_their_room(shelf: Shelf) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: shelf.add_model(f"{number}.onnx", io.BytesIO(b"x" * 300)), range(40)))
    assert len(shelf.models()) == 3
    assert {one.folder for one in shelf.models()} == set(shelf._scratch.iterdir())


@pytest.mark.parametrize("identity", ["", "..", "../..", "0" * 16, "\0", "x" * 9000])
def test_no_id_is_part_of_a_path(identity: str, shelf: Shelf) -> None:
    with pytest.raises(BadSpec, match="this model is not here any more"):
        shelf.model(identity)
    shelf.drop_model(identity)


# --- the whole of it


def test_all_that_was_kept_goes_at_the_end_unless_there_is_a_folder(tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        with opened(folder) as shelf:
            model = shelf.add_model("a.onnx", io.BytesIO(b"x"))
            shelf.save_report("a", b"{}")
            kept = shelf.folder / "a.json"
            assert shelf.lasts == (folder is not None)
        assert not model.folder.parent.parent.exists()
        assert kept.exists() == (folder is not None)
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


def test_others_of_this_machine_cannot_read_what_was_uploaded() -> None:
    with opened() as shelf:
        assert shelf._scratch.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("folder", ["nothing", "file"])
def test_a_folder_that_is_none_is_said(folder: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadSpec, match="there is no such folder"), opened(tmp_path / folder):
        pass


@pytest.mark.parametrize("becomes", ["nothing", "file"])
@pytest.mark.parametrize("page", ["/reports", "/devices"])
def test_a_folder_that_is_gone_is_said_and_no_empty_list(page: str, becomes: str, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    app = fresh(folder)
    assert "cannot be read" not in ask(page, app=app).text
    assert ask(f"{page}.json", app=app).status_code == 200
    folder.rmdir()
    if becomes == "file":
        folder.write_text("")
    assert "the folder that reports and devices are kept in cannot be read: N" in ask(page, app=app).text
    assert "There is none yet" not in ask(page, app=app).text
    answer = ask(f"{page}.json", app=app)
    assert (answer.status_code, list(answer.json())) == (503, ["error"])
