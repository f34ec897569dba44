"""What if: a source is weighed, changed and weighed again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from weighbridge.api import Inputs, Module, report_of
from weighbridge.choices import Choices, Reserve, costs_of, devices_of, reserve_of, training_asked, widths_of
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.named_tuple import NamedTuple
from weighbridge.passes.what_if.applied import applied
from weighbridge.passes.what_if.language import PARAMETER, Change, changes_of, steps_of
from weighbridge.report.layers import layer_changes
from weighbridge.report.record import WIDTHS_ASKED_FOR, Report
from weighbridge.report.what_if import Step, WhatIf, compared
from weighbridge.sources import USER_FILE, Given, Loaded, Source, check, file_of, is_named_model, quietly, read

if TYPE_CHECKING:
    from weighbridge.devices.device import Device, EnergyTable
    from weighbridge.memory.training.request import Training
    from weighbridge.passes import BitRules

__all__ = ["parameters_of", "what_if"]

_WIDTHS = f"{WIDTHS_ASKED_FOR}; biases and normalisation stay at their width unless a change names them"


def what_if(  # noqa: PLR0913 - the options are those of the command
    source: Source | Graph | Module,
    changes: str | Iterable[str],
    *,
    on: Source | Device | Iterable[Source | Device] = (),
    reserve: Reserve = (),
    batch: int | None = None,
    sequence: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Inputs = None,
    kwargs: Mapping[str, Any] | None = None,
    precision: str | None = None,
    as_written: bool = False,
    energy: Source | EnergyTable | None = None,
    train: str | Mapping[str, Any] | Training | None = None,
    steps: bool = False,
    progress: Callable[[str], None] | None = None,
) -> WhatIf:
    """A network before and after ``changes``, which are carried out in their order: ``"prune:conv*=30%"``, ``"sparsity=0.5"``,
    ``"bits=8"``, ``"activation-bits=8"``, ``"depthwise"``, ``"global-pool"``, ``"low-rank:fc6=64"``; of a textbook network or a
    network file also its parameters: ``"width=0.75"``, ``"resolution=160"``.  It is built anew with those, before all else is changed.

    ``source``, the sizes, ``on`` and the costs are as in ``weigh``; ``precision`` holds for both sides, and changes come after it.
    ``train`` is as in ``weigh`` and adds what training takes, by the rule ``paper``, as no module is built with the changes.
    ``steps`` adds the network after each step by itself; neighbouring changes of bits, of prune and of sparsity are one step.

    Raises what ``weigh`` does, and ``BadSpec`` for a change that cannot be read, that names what the network does not have, that
    finds nothing to do, or that leaves nothing of a layer.
    """
    given = Given(batch, sequence, dims, inputs, kwargs)
    check(source, given)
    wanted = changes_of(changes, () if isinstance(source, Graph) else parameters_of(source))
    devices, reserved = reserve_of(reserve, devices_of(on))
    rules, precision = widths_of(None, None, precision)
    costs = costs_of(devices, (), None, energy, None)
    training = _on_paper(training_asked(train))
    size = None if batch is None else int(batch)
    choices = Choices(devices, None, precision, size, as_written, costs=costs, reserved=reserved, training=training)
    tell = progress or quietly
    loaded = read(source, given, tell)
    weighed = _Weighed(loaded, source, given, rules, choices, tell)
    before = weighed.report(())
    done = _done(wanted, steps)
    reports = [weighed.report(changed) for changed in done]
    after = reports[-1]
    return WhatIf(
        tool=after.tool,
        source=before.network.source,
        changes=tuple(change.text for change in wanted),
        before=before,
        after=after,
        metrics=compared(before, after),
        layers=layer_changes(before.nodes, after.nodes),
        steps=tuple(_steps(done, reports)) if steps else (),
        notes=tuple(note for note in after.notes if note not in before.notes),
    )


def _on_paper(training: Training | None) -> Training | None:
    """Raises ``BadSpec`` where the rule of training memory that is asked for is another one than ``paper``."""
    if training is None:
        return None
    from weighbridge.memory.training.request import PAPER

    if training.rule not in ("", PAPER) or training.attention:
        what = "a what-if counts training memory by the rule paper: there is no module with the changes to follow"
        raise BadSpec(what, where="the rule of training memory", hint="leave the rule and the kernel of attention out")
    return training._replace(rule=PAPER)


def _done(wanted: Sequence[Change], steps: bool) -> list[tuple[Change, ...]]:
    """All that is changed when each report is made: after every step, or at the end alone."""
    if not steps:
        return [tuple(wanted)]
    ends = steps_of(wanted)
    return [tuple(change for step in ends[: end + 1] for change in step) for end in range(len(ends))]


def _steps(done: Sequence[tuple[Change, ...]], reports: Sequence[Report]) -> list[Step]:
    counts = [0, *map(len, done)]
    texts = [tuple(change.text for change in changed[count:]) for changed, count in zip(done, counts, strict=False)]
    return [Step(*pair) for pair in zip(texts, reports, strict=True)]


class _Weighed(NamedTuple):
    """How a source is weighed, whatever is changed in it."""

    as_it_is: Loaded
    source: Source | Graph | Module
    given: Given
    rules: BitRules | None
    choices: Choices
    tell: Callable[[str], None]

    def report(self, changes: tuple[Change, ...]) -> Report:
        """The report with these changes."""
        loaded = self._loaded(tuple(change for change in changes if change.kind == PARAMETER))
        self.tell("counting and planning the memory")
        graph = loaded.graph
        if self.rules is not None:
            from weighbridge.passes import set_bits

            graph = set_bits(graph, self.rules)
        changed = applied(graph, changes)
        report = report_of(loaded._replace(graph=changed), self.choices)
        if self.rules is None and not any(change.kind == "bits" for change in changes):
            return report
        return replace(report, notes=(*report.notes, _WIDTHS))

    def _loaded(self, parameters: tuple[Change, ...]) -> Loaded:
        if not parameters:
            return self.as_it_is
        named = {str(change.target) for change in parameters}
        kept = {name: None if name in named else getattr(self.given, name) for name in ("batch", "sequence")}
        given = self.given.dims if isinstance(self.given.dims, Mapping) else {}
        dims = {name: size for name, size in given.items() if name not in named}
        return read(_built_anew(self.source, parameters), self.given._replace(**kept, dims=dims), self.tell)


def parameters_of(source: Source | Module) -> tuple[str, ...]:
    """The names of the parameters of a textbook network or a network file; none of any other source.

    Raises ``BadSpec`` for a network file that cannot be read.
    """
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else ""
    if not path or is_named_model(path) or USER_FILE.fullmatch(path):
        return ()
    found = file_of(path)
    if found is None:
        from weighbridge.textbook import names, specification

        name = path.partition(":")[0].strip()
        return tuple(specification(name).parameters) if name in names() else ()
    if found[0].suffix.lower() != ".toml" or not found[0].is_file():
        return ()
    from weighbridge.frontends.from_toml import read_file

    return tuple(read_file(found[0]).parameters)


def _built_anew(source: Source | Module, changes: Sequence[Change]) -> str:
    """The name of a textbook network or a network file with these parameters in place of its own."""
    from weighbridge.frontends.from_toml import parse_choices

    path = os.fspath(source)
    found = file_of(path)
    name, choices = (path.partition(":")[0], path.partition(":")[2]) if found is None else (str(found[0]), found[1])
    chosen = {**parse_choices(choices, name), **{str(change.target): str(change.value) for change in changes}}
    return f"{name}:{','.join(f'{key}={value}' for key, value in chosen.items())}"
