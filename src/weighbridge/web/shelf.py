"""What the app keeps: saved reports and device files in a folder, and the models that were uploaded in one of its own."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO, Final

from weighbridge.devices.read import device_of
from weighbridge.errors import BadSpec, printable
from weighbridge.handwritten import MAX_FILE_BYTES
from weighbridge.named_tuple import NamedTuple
from weighbridge.sources import is_named_model

__all__ = ["Kept", "Model", "Shelf", "name_like", "opened"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ()+_.-]{0,79}")
"""Of a report or a device: a file of this name is where it seems to be on every system."""
_RESERVED: Final = re.compile(r"(?i:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?|.*[. ]")
_LONGEST_NAME: Final = 60
_LISTED: Final = 500
_LARGEST_REPORT: Final = 64 << 20
_BEGIN: Final = 8 << 10
_CHUNK: Final = 1 << 20
_NOWHERE: Final = frozenset(':<>"|?*')
"""Characters that a name of a file cannot have on some system."""
_MOST_MODELS: Final = 200
_NAME_BYTES: Final = 120
"""Of the name of an upload, in UTF-8."""
_ODD: Final = re.compile(r"[\\:]")
"""What leads elsewhere on some systems."""
_DEEPEST: Final = 8
"""Folders, in which a model may have its weights."""


class Kept(NamedTuple):
    """A file in the folder, by its name without the suffix."""

    name: str
    size_bytes: int
    modified_s: float


class Model(NamedTuple):
    """An uploaded model: ``id`` follows from its content and name, ``folder`` holds it and nothing else."""

    id: str
    name: str
    folder: Path
    size_bytes: int


class Shelf:
    """Reports (``NAME.json``) and device files (``NAME.toml``) in ``folder``, uploads below ``scratch``.

    Uploads take ``most_bytes`` together, and are no more than 200: for a new one the oldest go.  What is in a folder that
    does not last goes with the app.  Names come from a browser, so every one of them is looked at here before it becomes part of a path.
    """

    def __init__(self, folder: Path, scratch: Path, most_bytes: int = 4 << 30, *, lasts: bool = True) -> None:
        self.folder = folder
        self.lasts = lasts
        self._scratch = scratch
        self._most_bytes = most_bytes
        self._models: dict[str, Model] = {}
        self._lock = threading.Lock()

    @property
    def trouble(self) -> str:
        """Why what is kept cannot be listed, as the folder is gone or closed; "" where it can."""
        try:
            with os.scandir(self.folder):
                return ""
        except OSError as error:
            return f"the folder that reports and devices are kept in cannot be read: {error.strerror}"

    # --- reports

    def reports(self) -> tuple[Kept, ...]:
        """The saved reports, the newest first, no more than 500."""
        return self._listed(".json")

    def report(self, name: str) -> bytes:
        """The file of a saved report.  Raises ``BadSpec`` for a name that none has, and for what is too large to be one."""
        return self._content(name, ".json", "saved report", _LARGEST_REPORT)

    def report_begin(self, name: str) -> bytes:
        """The first bytes of a saved report, in which it says of which network it is; none where it cannot be read."""
        with suppress(OSError), (self.folder / f"{_checked(name)}.json").open("rb") as file:
            return file.read(_BEGIN)
        return b""

    def save_report(self, name: str, content: bytes) -> str:
        """Save a report under ``name``, or with a number behind it where that is taken, and return the name.  Raises ``BadSpec``."""
        return self._save(name, ".json", content, "saved report")

    # --- devices

    def devices(self) -> tuple[Kept, ...]:
        """The device files, the newest first, no more than 500."""
        return self._listed(".toml")

    def device_file(self, name: str) -> bytes:
        """A device file.  Raises ``BadSpec`` for a name that none has."""
        return self._content(name, ".toml", "device file", MAX_FILE_BYTES)

    def save_device(self, content: bytes) -> str:
        """Save a device file under the name that its device has.  Raises ``BadSpec`` with all faults of the file."""
        return self._save(device_of(content, "the device").name, ".toml", content, "device file")

    # --- uploads

    def models(self) -> tuple[Model, ...]:
        """The uploaded models, the newest first."""
        with self._lock:
            return tuple(reversed(self._models.values()))

    def model(self, identity: str) -> Model:
        """The upload of this id.  Raises ``BadSpec`` where there is none, or none any more."""
        with self._lock:
            found = self._models.get(identity)
        if found is None:
            raise BadSpec("this model is not here any more", where="model", hint="upload it again")
        return found

    @contextmanager
    def staged(self, name: str, content: IO[bytes], beside: Mapping[str, IO[bytes]] = {}) -> Iterator[Model]:
        """An upload that goes when this ends, unless ``keep`` has kept it.

        Files ``beside`` it are those that it keeps its weights in, and lie where it says that they do.  Raises ``BadSpec`` for one
        that it does not speak of, and where there is no room.
        """
        shown = _file_name(name)
        place = Path(tempfile.mkdtemp(dir=self._scratch))
        try:
            size, digest = _copied(content, place / shown)
            for path, file in _places(place / shown, beside):
                more, of_file = _copied(file, path)
                size += more
                digest.update(path.relative_to(place).as_posix().encode(errors="surrogateescape") + of_file.digest())
            if size > self._most_bytes:
                raise BadSpec(f"this is larger than the {self._most_bytes:,} B that uploads may take", where="model")
            digest.update(b"\0" + shown.encode())  # no name has that byte: the content ends before it
            yield Model(digest.hexdigest()[:16], shown, place, size)
        finally:
            with self._lock:
                is_kept = any(one.folder == place for one in self._models.values())
            if not is_kept:
                shutil.rmtree(place, ignore_errors=True)

    def keep(self, staged: Model) -> Model:
        """Keep an upload that is staged.  The same files under the same names are kept once."""
        gone = []
        with self._lock:
            kept = self._models.pop(staged.id, staged)
            self._models[kept.id] = kept
            total = sum(one.size_bytes for one in self._models.values())
            for one in list(self._models.values())[:-1]:
                if total > self._most_bytes or len(self._models) > _MOST_MODELS:
                    total -= one.size_bytes
                    gone.append(self._models.pop(one.id))
        for one in gone:
            shutil.rmtree(one.folder, ignore_errors=True)
        return kept

    def add_model(self, name: str, content: IO[bytes]) -> Model:
        """Keep an upload.  The same file under the same name is kept once.  Raises ``BadSpec`` where there is no room for it."""
        with self.staged(name, content) as one:
            return self.keep(one)

    def drop_model(self, identity: str) -> None:
        """Forget an upload."""
        with self._lock:
            found = self._models.pop(identity, None)
        if found is not None:
            shutil.rmtree(found.folder, ignore_errors=True)

    # --- files of the folder

    def _listed(self, suffix: str) -> tuple[Kept, ...]:
        found = []
        with suppress(OSError):
            for entry in os.scandir(self.folder):
                name, end = Path(entry.name).stem, Path(entry.name).suffix
                with suppress(OSError, BadSpec):
                    if end == suffix and entry.is_file(follow_symlinks=False) and _checked(name):
                        stat = entry.stat(follow_symlinks=False)
                        found.append(Kept(name, stat.st_size, stat.st_mtime))
        return tuple(sorted(found, key=lambda one: (-one.modified_s, one.name))[:_LISTED])

    def _content(self, name: str, suffix: str, what: str, most: int) -> bytes:
        path = self.folder / f"{_checked(name)}{suffix}"
        missing = BadSpec(f"there is no {what} {name!r}", where="name", hint="see the list of those that there are")
        if path.is_symlink() or not path.is_file():
            raise missing
        try:
            with path.open("rb") as file:
                content = file.read(most + 1)
        except OSError as error:
            raise BadSpec(f"the {what} cannot be read: {error.strerror}", where=name) from None
        if len(content) > most:
            raise BadSpec(f"this is no {what}: it is larger than {most:,} B", where=name)
        return content

    def _save(self, name: str, suffix: str, content: bytes, what: str) -> str:
        first = _checked(name)
        for place in range(1, 1000):
            one = first if place == 1 else f"{first[:70]}-{place}"
            path = self.folder / f"{one}{suffix}"
            try:
                with path.open("xb") as file, _whole(path):
                    file.write(content)
                    file.flush()
            except FileExistsError:
                continue
            except OSError as error:
                raise BadSpec(f"the {what} cannot be written: {error.strerror}", where="name") from None
            return one
        raise BadSpec(f"there are a thousand of the name {name!r}", where="name", hint="give it another one")


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Half a file is none: what could not be written to its end goes again."""
    try:
        yield
    except OSError:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def opened(folder: Path | None = None) -> Iterator[Shelf]:
    """A shelf whose uploads go when this ends, and its reports and device files with them unless there is a ``folder``.

    Raises ``BadSpec`` for a folder that is none.
    """
    if folder is not None and not folder.is_dir():
        raise BadSpec("there is no such folder", where=str(folder), hint="make it first, or leave the option out")
    with tempfile.TemporaryDirectory(prefix="weighbridge-", ignore_cleanup_errors=True) as scratch:
        uploads, kept = Path(scratch) / "uploads", Path(scratch) / "kept"
        uploads.mkdir()
        kept.mkdir()
        yield Shelf(kept if folder is None else folder, uploads, lasts=folder is not None)


def name_like(text: str) -> str:
    """A name for a report, as much like ``text`` as a file can be called."""
    plain = re.sub(r"[^A-Za-z0-9()+_.-]+", "-", text)[:_LONGEST_NAME].strip("-._()+ ")
    return plain if _NAME.fullmatch(plain) and not _RESERVED.fullmatch(plain) else "report"


def _checked(name: str) -> str:
    """``name``, which a file can have.  Raises ``BadSpec`` for any that leads elsewhere."""
    if not _NAME.fullmatch(name) or _RESERVED.fullmatch(name):
        hint = (
            "letters, digits, spaces and ()+_.- make one, at most 80, the first a letter or digit and the last no dot"
        )
        raise BadSpec(f"{printable(name, 60)!r} is no name here", where="name", hint=hint)
    return name


def _file_name(name: str) -> str:
    """The name of an upload as a file of a folder of its own can have it, as much as possible what the browser said: a dot at its
    start says what some files are.

    A colon would stand before choices, as on the command line, where some names are those of libraries.
    """
    last = re.split(r"[/\\]", name)[-1]
    plain = "".join("_" if one in _NOWHERE or not one.isprintable() else one for one in last).lstrip(" ").rstrip(" .")
    stem, suffix = Path(plain).stem, Path(plain).suffix
    room = _NAME_BYTES - len(suffix.encode()[:20])
    found = (stem.encode()[:room] + suffix.encode()[:20]).decode(errors="ignore").rstrip(" .") or "model"
    return f"_{found}" if _RESERVED.fullmatch(found) or is_named_model(f"{found}:") else found


def _places(model: Path, beside: Mapping[str, IO[bytes]]) -> Iterator[tuple[Path, IO[bytes]]]:
    """Where the files that a browser sent beside a model belong, which says of a browser's names only the last part."""
    if not beside:
        return
    from weighbridge.frontends.onnx_external import data_files

    places = (PurePosixPath(one) for one in data_files(model) if not _ODD.search(one))
    named = {one.name: one for one in places if len(one.parts) <= _DEEPEST}
    for name, content in beside.items():
        if name not in named:
            what = f"{printable(model.name, 60)} keeps none of its weights in {printable(name, 60)!r}"
            raise BadSpec(
                what, where="model", hint="send one model, and with it only the files that its weights are in"
            )
        yield model.parent / named[name], content


def _copied(content: IO[bytes], path: Path) -> tuple[int, hashlib._Hash]:
    size, digest = 0, hashlib.sha256()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            while chunk := content.read(_CHUNK):
                size += len(chunk)
                digest.update(chunk)
                file.write(chunk)
    except OSError as error:
        raise BadSpec(f"the upload cannot be kept: {error.strerror}", where="model") from None
    return size, digest
