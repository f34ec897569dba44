"""Pages that were made a moment ago, so that the answer to a form and the page that it leads to are made once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

__all__ = ["Recent"]

_MOST_BYTES: Final = 32 << 20


class Recent:
    """The last pages, of ``most_bytes`` together, by all that they follow from; one that is larger is not kept."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._pages: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        """The page of this key, None where it is not there any more."""
        with self._lock:
            page = self._pages.get(key)
            if page is not None:
                self._pages.move_to_end(key)
            return page

    def put(self, key: str, page: bytes) -> None:
        """Keep a page, for which the ones that were not asked for longest go."""
        if len(page) > self._most_bytes:
            return
        with self._lock:
            self._pages[key] = page
            self._pages.move_to_end(key)
            total = sum(map(len, self._pages.values()))
            while total > self._most_bytes:
                _, gone = self._pages.popitem(last=False)
                total -= len(gone)
