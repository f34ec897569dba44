"""The module tree of a report: nodes under the scopes they were written in, with subtotals, cut down to what a page can hold.

Everything is linear in the number of nodes: a tree row is made only for what is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weighbridge.counts import NodeFacts
from weighbridge.named_tuple import NamedTuple

__all__ = ["MODULE", "NODE", "REST", "Entry", "Sums", "Visible", "visible_entries"]

MODULE, NODE, REST = "module", "node", "rest"
"""What a row stands for: a module with everything in it, one node, or the rows that were left out between two others."""

_DEEPEST = 32
_LEAF = "."
"""Before the name of a node among children: no part of a scope has a dot in it."""


class Sums:
    """Subtotals of some nodes: ``None`` contributions are left out and leave a mark."""

    __slots__ = ("alive", "has_peak", "macs", "macs_exact", "nodes", "parameters", "parameters_exact")

    def __init__(self) -> None:
        self.nodes = 0
        self.parameters = 0
        self.macs = 0
        self.parameters_exact = True
        self.macs_exact = True
        self.alive: int | None = None
        self.has_peak = False

    def add(self, facts: NodeFacts, alive: int | None, is_peak: bool) -> None:
        """Take in one node: its facts and the bytes alive while it runs."""
        self.nodes += 1
        self.parameters += facts.parameters or 0
        self.macs += facts.macs or 0
        self.parameters_exact &= facts.parameters is not None
        self.macs_exact &= facts.macs_exact
        self.has_peak |= is_peak
        if alive is not None and (self.alive is None or alive > self.alive):
            self.alive = alive

    def merge(self, other: Sums) -> None:
        """Take in the nodes of ``other``."""
        self.nodes += other.nodes
        self.parameters += other.parameters
        self.macs += other.macs
        self.parameters_exact &= other.parameters_exact
        self.macs_exact &= other.macs_exact
        self.has_peak |= other.has_peak
        if other.alive is not None and (self.alive is None or other.alive > self.alive):
            self.alive = other.alive


class Entry:
    """A module, or a node if ``facts`` is there, with its ``place`` among them; ``children`` by name in order of first appearance."""

    __slots__ = ("children", "facts", "label", "leaves", "place", "sums")

    def __init__(self, label: str, facts: NodeFacts | None = None, place: int | None = None) -> None:
        self.label = label
        self.facts = facts
        self.place = place
        self.sums = Sums()
        self.children: dict[str, Entry] = {}
        self.leaves = 0


class Visible(NamedTuple):
    """An entry on the page: where it stands in the tree, and whether its children stand below it."""

    depth: int
    kind: str
    entry: Entry
    is_expanded: bool = False


def visible_entries(
    nodes: Sequence[NodeFacts],
    alive: Sequence[int | None],
    peak: int | None,
    *,
    depth: int | None = None,
    rows: int | None = 40,
) -> tuple[list[Visible], int]:
    """The entries to show, and how many rows the whole tree has.

    ``alive`` are the bytes alive while each node runs, ``peak`` the position of the node that sets the peak.  Without
    ``depth`` the tree is opened as deep as ``rows`` rows allow.  If even its first level has more, the entries with the
    largest shares of MACs and parameters stay, the peak always, and a ``REST`` entry sums up what is left out between them.
    ``rows=None`` shows everything.
    """
    root = _tree(nodes, alive, peak)
    levels = [0] * (_DEEPEST + 2)
    for level, _ in _walk(root):
        levels[level] += 1
    total = sum(levels)
    if depth is None:
        depth = _depth_for(levels, rows)
    shown = [
        Visible(level, NODE if entry.facts else MODULE, entry, level + 1 < depth and bool(entry.children))
        for level, entry in _walk(root, depth)
    ]
    if rows is not None and len(shown) > rows:
        shown = _elide(shown, root.sums, rows)
    return shown, total


def _tree(nodes: Sequence[NodeFacts], alive: Sequence[int | None], peak: int | None) -> Entry:
    root = Entry("")
    chains: dict[str, list[Entry]] = {"": [root]}
    for index, facts in enumerate(nodes):
        chain = chains.get(facts.scope)
        if chain is None:
            chain = chains[facts.scope] = _chain(root, facts.scope)
        leaf = Entry(_label(facts), facts, index)
        for entry in (*chain, leaf):
            entry.sums.add(facts, alive[index] if index < len(alive) else None, index == peak)
        chain[-1].children[f"{_LEAF}{facts.name}"] = leaf
        chain[-1].leaves += 1
    for name, child in list(root.children.items()):
        root.children[name] = _merged(child)
    return root


def _chain(root: Entry, scope: str) -> list[Entry]:
    chain = [root]
    for part in scope.split(".", _DEEPEST - 1):
        chain.append(chain[-1].children.setdefault(part, Entry(part)))
    return chain


def _label(facts: NodeFacts) -> str:
    """A node's name without the scope that the rows above it show already."""
    if not facts.scope:
        return facts.name
    if facts.name.startswith(f"{facts.scope}."):
        return facts.name[len(facts.scope) + 1 :] or facts.name
    return facts.name.rpartition("/")[2] or facts.name


def _merged(entry: Entry) -> Entry:
    """A module that holds nothing but one module or one node is one row with it."""
    for name, child in list(entry.children.items()):
        entry.children[name] = _merged(child)
    if len(entry.children) != 1:
        return entry
    ((key, child),) = entry.children.items()
    child.label = entry.label if key.startswith(_LEAF) else f"{entry.label}.{child.label}"
    return child


def _walk(root: Entry, depth: int | None = None) -> Iterator[tuple[int, Entry]]:
    """The entries below ``root`` with their level, a module before its children, at most ``depth`` levels."""
    stack = [(0, child) for child in reversed(root.children.values())]
    while stack:
        level, entry = stack.pop()
        yield level, entry
        if depth is None or level + 1 < depth:
            stack.extend((level + 1, child) for child in reversed(entry.children.values()))


def _depth_for(levels: Sequence[int], rows: int | None) -> int:
    if rows is None:
        return len(levels)
    depth, shown = 1, levels[0]
    while depth < len(levels) and shown + levels[depth] <= rows:
        shown += levels[depth]
        depth += 1
    return depth


def _elide(shown: Sequence[Visible], total: Sums, rows: int) -> list[Visible]:
    """Keep what weighs most; a module weighs no less than what is in it, so it stays wherever a part of it does."""

    def weight(index: int) -> float:
        sums = shown[index].entry.sums
        shares = sums.macs / (total.macs or 1) + sums.parameters / (total.parameters or 1)
        return shares + 3 * sums.has_peak

    ranked = sorted(range(len(shown)), key=weight, reverse=True)
    for count in range(min(rows, len(shown)), 0, -1):
        kept = sorted(ranked[:count])
        gaps = sum(after - before > 1 for before, after in zip([-1, *kept], [*kept, len(shown)], strict=True))
        if count + gaps <= rows:
            break
    page: list[Visible] = []
    for before, after in zip([-1, *kept], [*kept, len(shown)], strict=True):
        if after - before == 2:
            page.append(shown[after - 1])  # one row takes no more room than the row that says it is missing
        elif after - before > 2:
            page.append(_rest(shown[before + 1 : after]))
        if after < len(shown):
            page.append(shown[after])
    return page


def _rest(left_out: Sequence[Visible]) -> Visible:
    rest = Entry(f"… {len(left_out):,} more")
    for visible in left_out:
        if not visible.is_expanded:  # what stands below an opened module is counted there
            rest.sums.merge(visible.entry.sums)
    return Visible(min(visible.depth for visible in left_out), REST, rest)
