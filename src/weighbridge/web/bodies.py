"""What a request brings with it: a form's fields and files, of bounded size, in bounded time, on a bounded part of the disk."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import IO, ClassVar, Final, cast

from starlette.datastructures import FormData, Headers
from starlette.formparsers import FormParser, MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from weighbridge.errors import WeighbridgeError
from weighbridge.named_tuple import NamedTuple
from weighbridge.web.work import Busy

__all__ = [
    "FORM",
    "REPORT",
    "UPLOAD",
    "Form",
    "Most",
    "Refused",
    "Room",
    "Sent",
    "form_of",
    "in_json",
    "status_of",
    "too_large",
]

_MIB: Final = 1 << 20
_SLACK_S: Final = 30.0
_SLOWEST: Final = 256 << 10
"""Bytes a second: a body that has fallen further than ``_SLACK_S`` behind this is waited for no longer."""

_CHARSET: Final = re.compile(r"""(?i);\s*charset\s*=\s*("[^"]*"|[^;]*)""")


class Most(NamedTuple):
    """What a form may bring: ``file_bytes`` in all its files together, and so many files and fields of so many bytes each."""

    file_bytes: int = _MIB
    files: int = 4
    fields: int = 300
    field_bytes: int = 64 << 10

    @property
    def all_bytes(self) -> int:
        """Of the whole body: the files, and a mebibyte for fields and what stands around each."""
        return self.file_bytes + _MIB


FORM: Final = Most()
"""A form that is filled in, such as that of a device, or brings a small file."""
REPORT: Final = Most(file_bytes=62 * _MIB)
"""A form with a saved report."""
UPLOAD: Final = Most(file_bytes=1024 * _MIB)
"""A form with a model."""


class Refused(WeighbridgeError):
    """A body that is not taken; ``status`` is that of the answer."""

    status: ClassVar[int] = 400


class _TooLarge(Refused):
    status = 413


class _TooSlow(Refused):
    status = 408


class _NoForm(Refused):
    status = 415


class Sent(NamedTuple):
    """A file of a form: ``name`` is what the browser said, and goes nowhere unchecked; ``content`` stands at its start."""

    name: str
    content: IO[bytes]
    size_bytes: int


class Form(NamedTuple):
    """The fields of a form, each with all its values in order, and its files; a file that nobody chose is left out."""

    fields: Mapping[str, tuple[str, ...]]
    files: Mapping[str, tuple[Sent, ...]]

    def one(self, name: str, default: str = "") -> str:
        """The last value of a field."""
        return self.fields.get(name, (default,))[-1]


class Room:
    """How many bytes of requests may be on this machine's disk at a time, for all of them together."""

    def __init__(self, most_bytes: int = 4 << 30) -> None:
        self._left = most_bytes
        self._lock = threading.Lock()

    @contextmanager
    def taken(self) -> Iterator[Callable[[int], None]]:
        """What takes room for so many bytes more; all of it is free again at the end.  Raises ``Busy`` where there is none left."""
        held = 0

        def take(size_bytes: int) -> None:
            nonlocal held
            with self._lock:
                if size_bytes > self._left:
                    raise Busy("too much is being uploaded at once", hint="try again in a minute")
                self._left -= size_bytes
                held += size_bytes

        try:
            yield take
        finally:
            with self._lock:
                self._left += held


@asynccontextmanager
async def form_of(request: Request, most: Most = FORM) -> AsyncIterator[Form]:
    """The form that ``request`` brings, multipart or not; its files are closed, and gone, at the end.

    Raises ``Refused`` for a body that is larger or slower than it may be, or is no form, and ``Busy`` where there is no room
    for it; ``status_of`` says what to answer with.
    """
    said = _length(request.headers.get("content-length"))
    if said is not None and said > most.all_bytes:
        raise too_large(most)
    with request.app.state.room.taken() as take:
        take(said or 0)
        found = await _parsed(request, most, _stream(request, most, take if said is None else _announced))
        try:
            yield _sorted(found, most)
        finally:
            await found.close()


def status_of(error: WeighbridgeError) -> int:
    """The status of an answer that says ``error``: 503 where it would work later, 422 for what is wrong with what was sent."""
    if isinstance(error, Busy):
        return 503
    return error.status if isinstance(error, Refused) else 422


def in_json(error: WeighbridgeError) -> Response:
    """The answer to a program that ``error`` says why there is no other."""
    return JSONResponse({"error": str(error)}, status_of(error))


async def _parsed(request: Request, most: Most, stream: AsyncGenerator[bytes, None]) -> FormData:
    kind = request.headers.get("content-type", "")
    name = kind.partition(";")[0].strip().lower()
    try:
        if name == "multipart/form-data":
            # A character set that was said does only harm: some take a minute for a mebibyte.
            headers = Headers({"content-type": _CHARSET.sub("", kind)})
            parts = MultiPartParser(
                headers, stream, max_files=most.files, max_fields=most.fields, max_part_size=most.field_bytes
            )
            return await parts.parse()
        if name == "application/x-www-form-urlencoded":
            fields = FormParser(request.headers, stream, max_fields=most.fields, max_part_size=most.field_bytes)
            return await fields.parse()
    except MultiPartException as error:
        raise Refused(f"this form cannot be read: {error.message}") from None
    except ClientDisconnect:
        raise Refused("the form ended before all of it had come") from None
    except OSError as error:
        raise Busy(f"the upload cannot be kept: {error.strerror}", hint="make room on the disk") from None
    raise _NoForm("this is no form", hint="send multipart/form-data, such as curl -F file=@model.onnx")


async def _stream(request: Request, most: Most, take: Callable[[int], None]) -> AsyncGenerator[bytes, None]:
    """The body in parts, as long as it is neither too large nor too slow.  ``take`` is told of bytes that nobody announced."""
    loop = asyncio.get_running_loop()
    parts, received, begun = request.stream(), 0, loop.time()
    while True:
        try:
            async with asyncio.timeout(begun + _SLACK_S + received / _SLOWEST - loop.time()):
                part = await anext(parts)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise _TooSlow("this comes too slowly", hint="send it again over a faster connection") from None
        received += len(part)
        if received > most.all_bytes:
            raise too_large(most)
        take(len(part))
        yield part


def _announced(size_bytes: int) -> None:
    """Room for it was taken before."""


def too_large(most: Most) -> Refused:
    """What is said of files that are larger together than ``most`` says."""
    what = f"this is larger than the {most.file_bytes >> 20:,} MiB that a file may have here"
    return _TooLarge(what, hint="the command line has no such limit")


def _sorted(found: FormData, most: Most) -> Form:
    fields: dict[str, list[str]] = {}
    files: dict[str, list[Sent]] = {}
    for name, one in found.multi_items():
        if isinstance(one, str):
            fields.setdefault(name, []).append(one)
        elif one.filename:
            files.setdefault(name, []).append(Sent(one.filename, cast("IO[bytes]", one.file), one.size or 0))
    if sum(one.size_bytes for several in files.values() for one in several) > most.file_bytes:
        raise too_large(most)
    return Form(
        {name: tuple(values) for name, values in fields.items()},
        {name: tuple(several) for name, several in files.items()},
    )


def _length(said: str | None) -> int | None:
    return int(said) if said is not None and said.isascii() and said.isdigit() else None
