"""Ids and node names that are unique."""

from __future__ import annotations

__all__ = ["MAX_NAME", "Names"]

MAX_NAME = 200


class Names:
    """Hands out ids and node names; one that is taken already gets a number."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def fresh(self, name: str) -> str:
        taken = self._taken
        candidate = name
        while candidate in taken:
            self._last[name] = self._last.get(name, 1) + 1
            candidate = f"{name}#{self._last[name]}"
        taken.add(candidate)
        return candidate

    def node(self, path: str, name: str, op: str) -> str:
        """A name for a node below a path; operators without one are numbered."""
        if name:
            whole = path + name
            return self.fresh(whole if len(whole) <= MAX_NAME else f"{whole[: MAX_NAME - 1]}…")
        stem = f"{path}{op}"[: MAX_NAME - 10]
        number = self._last.get(f"{stem}_", -1) + 1
        self._last[f"{stem}_"] = number
        return self.fresh(f"{stem}_{number}")
