"""A plan of training memory as records, with the names of the report's JSON."""

from __future__ import annotations

from weighbridge.named_tuple import NamedTuple

__all__ = ["TrainingLayer", "TrainingPlan", "TrainingPoint"]


class TrainingLayer(NamedTuple):
    """A node, or under ``autograd`` a module, that keeps or learns something.

    ``saved_bytes`` are kept for the backward pass, ``parameter_bytes`` its parameters, ``gradient_bytes`` and ``optimiser_bytes``
    what is trained of them; a parameter that several read is at the first.  ``training_bytes`` is saved + parameters + gradients:
    over the depth of a network a U.
    """

    name: str
    scope: str
    operator: str
    saved_bytes: int
    parameter_bytes: int
    gradient_bytes: int
    optimiser_bytes: int
    training_bytes: int
    exact: bool = True


class TrainingPoint(NamedTuple):
    """What training needs at one batch size."""

    batch: int
    saved_bytes: int
    peak_activation_bytes: int
    total_bytes: int | None
    exact: bool = True


class TrainingPlan(NamedTuple):
    """What one step of training needs, by ``rule``.

    ``parameter_bytes`` are the parameters that forward and backward compute with, ``buffer_bytes`` running statistics and
    constants, ``gradient_bytes`` and ``optimiser_bytes`` of the ``trained_parameters``, ``master_bytes`` their 32-bit copies under
    mixed precision; ``frozen_bytes`` are those of the parameters and constants that nothing writes to.

    ``saved_bytes`` is all that is kept for the backward pass, and ``peak_activation_bytes`` the most that is kept and in use at
    once, at ``peak_node`` (under ``autograd`` a module) in the ``peak_phase``.  ``total_bytes`` is the sum of the parts with that
    peak; under ``autograd`` gradients that are not there yet at the peak are not in it.  Where ``exact`` is false the figures of
    activations are lower bounds, and ``notes`` say what is missing.

    ``asked`` says how it is trained, where not all of it is in the plain way.  ``attention`` is the kernel of attention that was
    followed.  ``by_batch`` has the batch sizes that were asked for.
    """

    rule: str
    optimiser: str
    mixed_precision: bool
    trained_parameters: int
    parameter_bytes: int | None
    buffer_bytes: int | None
    gradient_bytes: int | None
    optimiser_bytes: int
    master_bytes: int
    saved_bytes: int
    peak_activation_bytes: int
    peak_node: str | None
    peak_phase: str
    total_bytes: int | None
    exact: bool
    asked: tuple[str, ...] = ()
    attention: str = ""
    frozen_bytes: int | None = 0
    by_batch: tuple[TrainingPoint, ...] = ()
    layers: tuple[TrainingLayer, ...] = ()
    notes: tuple[str, ...] = ()
