"""Changes as they are written: ``prune:conv*=30%``, ``bits=8``, ``depthwise``, ``resolution=160``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.passes.bits import width_of
from weighbridge.passes.targets import EVERY
from weighbridge.written import number, shown

__all__ = ["CHANGES", "PARAMETER", "Change", "Kind", "changes_of", "steps_of"]

PARAMETER: Final = "parameter"
"""The kind of a change that is a parameter of the source, from which the network is built anew."""
_LONGEST: Final = 1000


class Change(NamedTuple):
    """One change: ``kind`` is a name of ``CHANGES`` or ``parameter``, of which ``target`` is then the name; ``target`` is None
    where all layers are meant, ``value`` None of a kind that has none, and ``text`` the change as it was written.

    A share is a ``Fraction``, bits and a rank in full are ints, a parameter is text.
    """

    kind: str
    target: str | None
    value: int | Fraction | str | None
    text: str


class Kind(NamedTuple):
    """How a kind of change is written, what it does, what reads its value (None: it has none), whether it takes a target, and the
    family of kinds that are carried out together where they stand next to each other ("": each is by itself).
    """

    form: str
    summary: str
    read: Callable[[str], int | Fraction] | None
    has_target: bool = True
    family: str = ""


def _share(text: str) -> Fraction:
    share = _number(text)
    if share is None or not 0 <= share < 1:
        raise BadSpec(f"{shown(text)} is no share from 0 to below 1", hint="write 30% or 0.3")
    return share


def _number(text: str) -> Fraction | None:
    """``30%`` or ``0.3``, exactly; None for what is no number."""
    is_percent = text.endswith("%")
    found = number(text.removesuffix("%").rstrip())
    return found / 100 if found is not None and is_percent else found


def _bits(text: str) -> int:
    return width_of(text, text)


def _rank(text: str) -> int | Fraction:
    """A whole number from 1, or a share above 0."""
    rank = _whole(text)
    if rank is not None and rank >= 1:
        return rank
    share = _number(text) if rank is None else None
    if share is None or not 0 < share < 1:
        raise BadSpec(f"{shown(text)} is no rank", hint="write a whole number from 1, or a share such as 25%")
    return share


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else None


CHANGES: Final[Mapping[str, Kind]] = {
    "bits": Kind("bits[:TARGET]=N", "bits of the weights", _bits, family="bits"),
    "activation-bits": Kind(
        "activation-bits=N", "bits of inputs and activations", _bits, has_target=False, family="bits"
    ),
    "prune": Kind(
        "prune[:TARGET]=RATIO", "layers with this share of their output channels gone", _share, family="prune"
    ),
    "sparsity": Kind("sparsity[:TARGET]=RATIO", "this share of the weights zero", _share, family="sparsity"),
    "depthwise": Kind("depthwise[:TARGET]", "standard convolutions as depthwise and pointwise ones", None),
    "global-pool": Kind("global-pool", "global average pooling in place of flattening", None, has_target=False),
    "low-rank": Kind("low-rank[:TARGET]=RANK", "linear layers as two with RANK values between them", _rank),
}


def changes_of(texts: str | Iterable[str], parameters: Collection[str] = ()) -> tuple[Change, ...]:
    """The changes that ``texts`` say, in their order; ``parameters`` are those that the source has.

    Raises ``BadSpec`` for none at all, one that there is not, with names near it, a value or a target that is missing or too much,
    and a value that cannot be read or is out of its range.  Whether a target is in the network shows when it is changed.
    """
    found = tuple(_change(text.strip(), parameters) for text in _texts(texts))
    if not found:
        raise BadSpec("there is nothing to change", hint=f"the changes are {', '.join(_forms())}")
    return found


def _texts(texts: object) -> Iterator[str]:
    """Each change; ``BadSpec`` for what is none, as a number or a mapping."""
    several = texts if isinstance(texts, Iterable) and not isinstance(texts, (str, bytes, Mapping)) else (texts,)
    for text in several:
        if not isinstance(text, str):
            raise BadSpec(f"a change is text, not a {type(text).__name__}", hint="give 'prune=30%', or a list of such")
        yield text


def _forms() -> Iterator[str]:
    return (kind.form for kind in CHANGES.values())


def _change(text: str, parameters: Collection[str]) -> Change:
    if len(text) > _LONGEST:
        raise BadSpec(f"a change of {len(text):,} characters", where=text[:40], hint=f"it has {_LONGEST:,} at most")
    name = text[: min((place for sign in ":=" if (place := text.find(sign)) >= 0), default=len(text))]
    kind = CHANGES.get(name.strip())
    if kind is None:
        return _parameter(text, name.strip(), parameters)
    rest = text[len(name) :]
    target, value = _parts(rest, kind, text)
    if kind.read is None:
        return Change(name.strip(), target, None, text)
    try:
        return Change(name.strip(), target, kind.read(value), text)
    except BadSpec as error:
        raise error.at(text) from None


def _parts(rest: str, kind: Kind, text: str) -> tuple[str | None, str]:
    """The target and the value behind the name.  A target may have ``:`` and ``=`` in it, a value has neither."""
    before, equals, value = rest.rpartition("=") if kind.read is not None else (rest, "", "")
    if kind.read is not None and not (equals and value.strip()):
        raise BadSpec("the value is missing", where=text, hint=f"write {kind.form}")
    target = before.removeprefix(":").strip()
    if not kind.has_target and (before or (kind.read is None and rest)):
        extra = "target" if before.startswith(":") else "value"
        raise BadSpec(f"this change has no {extra}", where=text, hint=f"write {kind.form}")
    if before and not (before.startswith(":") and target):
        raise BadSpec(_unread(before, kind), where=text, hint=f"write {kind.form}")
    return None if target in EVERY else target, value.strip()


def _unread(before: str, kind: Kind) -> str:
    """What is wrong with what stands where a target may stand."""
    if before.strip() == ":":
        return "the target is missing"
    return "this change has no value" if kind.read is None and before.startswith("=") else "this cannot be read"


def _parameter(text: str, name: str, parameters: Collection[str]) -> Change:
    value = text.partition("=")[2].strip()
    if name in parameters:
        if not value or ":" in text.partition("=")[0]:
            raise BadSpec("a parameter of the network takes a value", where=text, hint=f"write {name}=VALUE")
        return Change(PARAMETER, name, value, text)
    from difflib import get_close_matches

    near = get_close_matches(name.lower().replace("_", "-"), [*CHANGES, *parameters], 1)
    if near:
        form = CHANGES[near[0]].form if near[0] in CHANGES else f"{near[0]}=VALUE"
        raise BadSpec(f"there is no change {shown(name)}", where=text, hint=f"did you mean {form}?")
    hint = f"the changes are {', '.join(CHANGES)}; {_of_source(parameters)}"
    raise BadSpec(f"there is no change {shown(name)}", where=text, hint=hint)


def _of_source(parameters: Collection[str]) -> str:
    if parameters:
        return f"the parameters of this network are {', '.join(parameters)}"
    return (
        "parameters such as width and resolution are of textbook networks and network files, and this source has none"
    )


def steps_of(changes: Iterable[Change]) -> tuple[tuple[Change, ...], ...]:
    """``changes`` in the steps in which they are carried out: those of a family that stand next to each other together."""
    steps: list[tuple[Change, ...]] = []
    for change in changes:
        family = _family(change)
        if steps and family and _family(steps[-1][0]) == family:
            steps[-1] = (*steps[-1], change)
        else:
            steps.append((change,))
    return tuple(steps)


def _family(change: Change) -> str:
    return CHANGES[change.kind].family if change.kind in CHANGES else ""
