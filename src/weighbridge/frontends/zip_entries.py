"""The entries of a zip archive that may be damaged or hostile, within limits.

Only the entries that are asked for are read, by name; a name is never used as a path.  Nothing is written.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final

from weighbridge.errors import BadModel

__all__ = ["MAX_ENTRIES", "MAX_RATIO", "ZipEntries", "entry_names"]

MAX_ENTRIES: Final = 100_000
"""More files than any model has: PyTorch writes one for each stored tensor and a dozen others."""
MAX_RATIO: Final = 200
"""JSON packs 10 to 40 times; what unpacks to more than this is made to fill a memory."""
_MAX_DIRECTORY_BYTES: Final = 16 << 20
_END_BYTES: Final = 1 << 17
"""Where the end of the directory is looked for: a comment of 64 KiB may stand behind it."""
_SMALL_BYTES: Final = 1 << 20
_CHUNK_BYTES: Final = 1 << 20
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED: Final = 1
_DAMAGED: Final = "the file is damaged or incomplete: save or download it again"
_HOSTILE: Final = "the file is damaged or made to harm: get it again from its author"


class _Bounded(io.FileIO):
    """A file of which no more than a directory's worth is read at once, whatever its header claims."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            size = _END_BYTES
        if size > _MAX_DIRECTORY_BYTES:
            raise BadModel(f"a directory of {size:,} bytes", hint=_HOSTILE)
        return super().read(size) or b""


class ZipEntries:
    """An open archive.  ``names`` are those of its files, in its order.

    Raises ``BadModel`` for what is no readable zip archive, has too many entries, or two of one name.
    """

    def __init__(self, path: Path) -> None:
        self.where = path.name
        with _as_bad_model(self.where):
            self._file = _Bounded(path)
            try:
                self._archive = zipfile.ZipFile(self._file)
                self._infos = self._by_name()
            except BaseException:
                self._file.close()
                raise
        self.names = tuple(self._infos)

    def _by_name(self) -> dict[str, zipfile.ZipInfo]:
        infos = self._archive.infolist()
        if len(infos) > MAX_ENTRIES:
            raise BadModel(f"an archive of {len(infos):,} files; {MAX_ENTRIES:,} is the most", hint=_HOSTILE)
        found: dict[str, zipfile.ZipInfo] = {}
        for info in infos:
            if found.setdefault(info.filename, info) is not info:
                raise BadModel(f"two files in the archive are called {info.filename!r}", hint=_HOSTILE)
        return found

    def __enter__(self) -> ZipEntries:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._archive.close()
        self._file.close()

    def size(self, name: str) -> int:
        """The bytes that a file has by the archive's directory; 0 where there is none of that name."""
        info = self._infos.get(name)
        return 0 if info is None else info.file_size

    def read(self, name: str, most_bytes: int) -> bytes:
        """The content of a file.  Raises ``BadModel`` where it is longer than ``most_bytes``, packed more than
        ``MAX_RATIO`` times, encrypted, or damaged.
        """
        info = self._infos[name]
        where = f"{self.where}: {name}"
        if info.file_size > most_bytes:
            what = f"{info.file_size:,} bytes, where {most_bytes:,} is the most that is read"
            raise BadModel(what, where=where, hint=_HOSTILE)
        if info.file_size > max(_SMALL_BYTES, MAX_RATIO * info.compress_size):
            what = f"unpacks {info.compress_size:,} bytes to {info.file_size:,}"
            raise BadModel(what, where=where, hint=_HOSTILE)
        if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
            hint = "write the archive again, stored or deflated"
            raise BadModel("it is encrypted, or packed in a way that is not read here", where=where, hint=hint)
        with _as_bad_model(where):
            return self._content(info, most_bytes)

    def _content(self, info: zipfile.ZipInfo, most_bytes: int) -> bytes:
        chunks, total = [], 0
        with self._archive.open(info) as file:
            while chunk := file.read(_CHUNK_BYTES):
                total += len(chunk)
                if total > most_bytes:
                    raise BadModel(f"more than the {info.file_size:,} bytes that it claims to have", hint=_HOSTILE)
                chunks.append(chunk)
        return b"".join(chunks)


@contextmanager
def _as_bad_model(where: str) -> Iterator[None]:
    """What the zip library raises for damaged files, as an error of ours."""
    try:
        yield
    except BadModel as error:
        raise BadModel(error.what, where=error.where or where, hint=error.hint) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise BadModel(f"the zip archive cannot be read ({error})", where=where, hint=_DAMAGED) from None
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadModel(f"the file cannot be read ({reason})", where=where, hint=_DAMAGED) from None


def entry_names(path: Path) -> tuple[str, ...]:
    """The names of the files in an archive; none where it cannot be read."""
    try:
        with ZipEntries(path) as entries:
            return entries.names
    except BadModel:
        return ()
