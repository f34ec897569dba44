"""Uploaded models as simulators have them: those that there are now, and the graph of each, read once in a process of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import Final

from weighbridge.errors import BadModel, BadSpec, WeighbridgeError
from weighbridge.graph import Graph
from weighbridge.graph_json import graph_from_json
from weighbridge.web import jobs
from weighbridge.web.networks import Sized, graph_of
from weighbridge.web.references import UPLOAD, order_of
from weighbridge.web.shelf import Shelf
from weighbridge.web.work import Busy, Work

__all__ = ["Uploads"]

_MOST: Final = 8
"""Graphs that are kept, the last that were asked for."""
_LARGEST: Final = 16 << 20
"""Bytes of a graph as JSON."""
_MOST_NODES: Final = 5_000
"""More are no network that one steps through: a chart has a bar for each."""
_BATCH: Final = "batch"

_Outcome = Graph | WeighbridgeError


class Uploads:
    """The models that lie on ``shelf``, beside the textbook networks; ``work`` reads them."""

    def __init__(self, shelf: Shelf, work: Work) -> None:
        self._shelf = shelf
        self._work = work
        self._known: dict[tuple[str, int], Future[_Outcome]] = {}
        self._lock = threading.Lock()

    def offered(self, textbook: Mapping[str, str]) -> Mapping[str, str]:
        """What can be chosen at any time: ``textbook``, and the uploads that there are then."""
        return _Offered(textbook, self._shelf)

    def sized(self, source: str, batch: int) -> Sized:
        """The graph of an upload or of a textbook network; ``batch`` holds for a file that leaves its own open.

        Raises ``BadSpec`` at the network where it cannot be had, ``Busy``, and ``Fault`` for one of ours.
        """
        if not source.startswith(UPLOAD):
            return Sized(graph_of(source, batch), takes_batch=True)
        found = self._read_once(source, 0)
        if isinstance(found, Graph):
            return Sized(found, takes_batch=False)
        found = self._read_once(source, batch)
        if isinstance(found, Graph):
            return Sized(found, takes_batch=True)
        raise BadSpec(found.what, where="network", hint=found.hint, details=found.details)

    def _read_once(self, source: str, batch: int) -> _Outcome:
        """What came of reading it, with ``batch`` where that is not 0; whoever asks meanwhile waits for it."""
        key = (source, batch)
        with self._lock:
            outcome = self._known.pop(key, None)
            is_new = outcome is None
            if outcome is None:
                outcome = Future()
            self._known[key] = outcome
            while len(self._known) > _MOST:
                del self._known[next(iter(self._known))]
        if is_new:
            self._settle(key, outcome)
        return outcome.result()

    def _settle(self, key: tuple[str, int], outcome: Future[_Outcome]) -> None:
        try:
            outcome.set_result(self._read(*key))
        except BaseException as error:  # whoever waits is told as well, and the next one tries anew
            with self._lock:
                self._known.pop(key, None)
            outcome.set_exception(error)

    def _read(self, source: str, batch: int) -> _Outcome:
        try:
            order = order_of(source, self._shelf)
            sizes = {_BATCH: batch} if batch else {}
            content = self._work.do(jobs.graph_json, order._replace(sizes=sizes))
            if len(content) > _LARGEST:
                raise BadModel(f"its graph takes more than the {_LARGEST >> 20} MiB that it gets on this page")
            graph = graph_from_json(content.decode())
            if len(graph.nodes) > _MOST_NODES:
                raise BadModel(
                    f"it has {len(graph.nodes):,} nodes, more than the {_MOST_NODES:,} that a simulator takes"
                )
        except Busy:
            raise
        except WeighbridgeError as error:
            return error
        return graph


class _Offered(Mapping[str, str]):
    """Names as people read them, by what the address has; uploads come and go."""

    def __init__(self, textbook: Mapping[str, str], shelf: Shelf) -> None:
        self._textbook = textbook
        self._shelf = shelf

    def _now(self) -> Mapping[str, str]:
        uploads = {f"{UPLOAD}{one.id}": f"{one.name} (uploaded)" for one in self._shelf.models()}
        return {**self._textbook, **uploads}

    def __getitem__(self, name: str) -> str:
        return self._now()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())
