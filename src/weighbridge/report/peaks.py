"""Peak memory on a page: the policies side by side, what each calls alive, and what all of them assume."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from weighbridge.errors import BadSpec, printable
from weighbridge.memory import ARENA, IN_PLACE, NHCWB16, POLICIES, ArenaPlan, MemoryPlan
from weighbridge.report.page import Peak, Peaks
from weighbridge.report.record import Report
from weighbridge.units import binary_bytes, exact

__all__ = ["LIVE", "check_profile", "peaks", "place_of_peak", "policy_named", "where_of_peak", "why_no_profile"]

LIVE: Final = "live"
"""The policy whose profile stands beside the nodes unless another is asked for."""

_RULES: Final = {
    "pair": "its own inputs and outputs, no branch that waits beside it",
    "live": "everything still to be read; all branches that are alive are added, a shared input once",
    "held": "live, and the input of each enclosing block until the block is done",
    "held_contractions": "held, looked at in convolutions and linear layers only",
}
_IN_PLACE_RULE: Final = (
    f"*{IN_PLACE}",
    "the same, but elementwise and depthwise results are written over an operand that dies; without this ending none are",
)
_OF_RUNTIMES: Final = {
    "eager": "what PyTorch holds of the module as written; in-place calls honoured, arguments and auxiliary outputs counted",
    NHCWB16: "what Vela keeps in an Ethos-U's SRAM: maps in bricks of 16 channels, elementwise results over an operand that dies",
}
"""Policies of one runtime, which have rules of their own about what is overwritten."""
_PACKED: Final = "the highest end of what the greedy planner of TensorFlow Lite Micro packs, 16 B aligned"
_ASSUMPTIONS: Final = (
    ("layer by layer", "one node runs after the other, no two in flight"),
    ("weights", "streamed from flash, or held in a memory of their own; not counted"),
)
"""What holds for every policy."""
_NO_SCRATCH: Final = "not included; real runtimes need more, for im2col, accumulators and gaps between tensors"
_GAPS_ALONE: Final = f"{_NO_SCRATCH}; the gaps are in {ARENA}"
_IN_ARENA: Final = f"in {ARENA} alone, with the gaps between tensors; real runtimes need it: im2col, accumulators"

_NAMED: Final = 3
_UNSAID: Final = "the report does not say why"


def peaks(memory: MemoryPlan) -> Peaks:
    """Every policy: those with a figure, equal ones in one row; then those without one, and why."""
    unsaid = (policy for policy, size in memory.peak_bytes.items() if size is None and memory.exact)
    reasons = {**dict.fromkeys(unsaid, _UNSAID), **memory.inapplicable}
    applying = [policy for policy in memory.peak_bytes if policy not in reasons]
    left_out = (*_unknown(memory, applying), *_not_applying(reasons))
    return Peaks(tuple(_rows(memory, applying)), left_out, tuple(_assumptions(memory, applying)))


def _rows(memory: MemoryPlan, applying: Iterable[str]) -> Iterator[Peak]:
    equal: dict[tuple[int | None, int | None, str | None], list[str]] = {}
    for policy in applying:
        found = memory.peak_bytes[policy], memory.peak_elements.get(policy), memory.peak_node.get(policy)
        equal.setdefault(found, []).append(policy)
    for (size, elements, node), policies in equal.items():
        yield Peak(
            policies=_listed(policies),
            bytes="unknown" if size is None else exact(size),
            binary="" if size is None else binary_bytes(size),
            values="?" if elements is None else exact(elements),
            node=printable(node or "", 60),
        )


def _listed(policies: Iterable[str]) -> str:
    """The names; those of forms in place are not spelt out where each of the others has its own."""
    names = [printable(policy, 40) for policy in policies]
    plain = [name for name in names if not name.endswith(IN_PLACE)]
    if names == [*plain, *(f"{name}{IN_PLACE}" for name in plain)]:
        return f"{', '.join(plain)}, in place or not"
    return ", ".join(names)


def _unknown(memory: MemoryPlan, applying: Iterable[str]) -> Iterator[str]:
    if any(memory.peak_bytes[policy] is None for policy in applying):
        names = [printable(tensor.name, 60) for tensor in memory.tensors if tensor.bytes is None]
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        yield f"unknown: the size of {', '.join(names[:_NAMED]) or 'a tensor in a body'}{more} is not known"


def _not_applying(reasons: Mapping[str, str]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for policy, reason in reasons.items():
        by_reason.setdefault(reason, []).append(policy)
    parts = [f"{_listed(policies)} ({printable(reason)})" for reason, policies in by_reason.items()]
    if parts:
        yield f"does not apply: {'; '.join(parts)}"


def _assumptions(memory: MemoryPlan, applying: Iterable[str]) -> Iterator[tuple[str, str]]:
    families = {policy.removesuffix(IN_PLACE) for policy in applying}
    yield from ((policy, rule) for policy, rule in _RULES.items() if policy in families)
    if any(policy.endswith(IN_PLACE) for policy in applying):
        yield _IN_PLACE_RULE
    yield from ((policy, rule) for policy, rule in _OF_RUNTIMES.items() if policy in families)
    if ARENA in families:
        yield ARENA, f"{_PACKED}{_requests(memory.arena)}"
    yield from _ASSUMPTIONS
    if memory.variable_bytes != 0:
        size = "of unknown size" if memory.variable_bytes is None else f"{exact(memory.variable_bytes)} B"
        yield "variables", f"{size}, beside every peak: they outlive an inference"
    yield "scratch", _scratch(memory.arena if ARENA in families else None)


def _requests(plan: ArenaPlan | None) -> str:
    """Whose requests were packed; nothing where a report does not say."""
    if plan is None:
        return ""
    packed = ": what its reference kernels ask for" if plan.source == "runtime" else ": the tensors of this graph"
    return f"{packed}, and {printable(plan.scratch, 20)} of convolutions" if plan.scratch else packed


def _scratch(plan: ArenaPlan | None) -> str:
    if plan is None:
        return _NO_SCRATCH
    return _IN_ARENA if plan.scratch or plan.source == "runtime" else _GAPS_ALONE


def policy_named(name: str) -> str:
    """``name`` if it is that of a memory policy.  Raises ``BadSpec`` if not."""
    if name in POLICIES:
        return name
    hint = f"the policies are {', '.join(POLICIES)}"
    raise BadSpec(f"there is no memory policy {name!r}", where="--policy", hint=hint)


def place_of_peak(report: Report, policy: str) -> int | None:
    """The node that sets the peak; of a peak that is set at a node which deployment took away, the one that ran then."""
    memory = report.memory
    name, top, profile = memory.peak_node.get(policy), memory.peak_bytes.get(policy), memory.profile.get(policy, ())
    if name is None or top is None:
        return None
    place = next((index for index, node in enumerate(report.nodes) if node.name == name), None)
    return profile.index(top) if place is None and top in profile else place


def where_of_peak(report: Report, policy: str, place: int) -> str:
    """``at conv1, node 1 of 12``; ``place`` is that of the node that sets the peak, or of the one that ran then."""
    name = report.memory.peak_node.get(policy)
    at = "node" if name == report.nodes[place].name else "a node of the graph as written, in the time of node"
    return f"at {printable(name or '', 60)}, {at} {place + 1:,} of {len(report.nodes):,}"


def why_no_profile(memory: MemoryPlan, policy: str) -> str | None:
    """Why ``policy`` has no running profile; None where it has one."""
    if policy in memory.profile:
        return None
    reason = memory.inapplicable.get(policy)
    if reason is not None:
        return f"{policy} does not apply: {printable(reason)}"
    if policy.removesuffix(IN_PLACE) == "held_contractions":
        of = policy.replace("_contractions", "")
        return f"{policy} has no profile of its own: it is the largest of {of} at convolutions and linear layers"
    return f"{policy} has no profile: the nodes run in another order than PyTorch's calls"


def check_profile(memory: MemoryPlan, policy: str) -> None:
    """Raises ``BadSpec`` with the reason where ``policy`` has no running profile."""
    reason = why_no_profile(memory, policy)
    if reason is not None:
        raise BadSpec(reason, where="--policy", hint=f"policies with a profile are {', '.join(memory.profile)}")
