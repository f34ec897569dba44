"""One step of training as PyTorch's autograd holds it: the record that the front end makes and the plan reads."""

from __future__ import annotations

from weighbridge.named_tuple import NamedTuple

__all__ = ["AutogradRun", "HeldAtPeak", "SavedStorage"]


class SavedStorage(NamedTuple):
    """A storage that autograd keeps for the backward pass, once however many tensors of it are saved.

    ``scope`` is the path of the module whose forward saved it first.  ``by`` is the operation that did, as autograd names it
    ("Convolution", "NativeLayerNorm"), or "checkpoint"; "" where the backward pass did not come to it.
    ``kind`` is ``activation``, ``input`` (of the network), ``constant`` (a tensor from outside the forward pass that is
    neither), ``parameter`` or ``buffer``: the last two exist with the model and are in no total of what is saved.
    """

    bytes: int
    scope: str
    by: str
    kind: str

    @property
    def is_counted(self) -> bool:
        """Whether it is in the total of what is saved."""
        return self.kind not in ("parameter", "buffer")


class HeldAtPeak(NamedTuple):
    """The bytes of each kind that are alive at the peak; their sum is the peak.

    A gradient is one of a parameter, also while it is still being computed.  Activations are what the forward pass made, and
    a checkpoint's second one; temporary is all else that the backward pass makes.  Constants count with the buffers.
    """

    parameter_bytes: int
    buffer_bytes: int
    input_bytes: int
    gradient_bytes: int
    activation_bytes: int
    temporary_bytes: int


class AutogradRun(NamedTuple):
    """A forward pass, the sum of the results as the loss, and the backward pass, as PyTorch's own objects hold storages.

    ``peak_bytes`` is the most alive at once, what the model holds and the gradients included, states of an optimiser not;
    ``peak_phase`` is ``forward`` or ``backward`` and ``peak_scope`` the path of the module at it.  ``attention`` names the kernel
    of scaled dot product attention that the run took ("math", "flash", "flash+math"), "" where it called none.
    """

    saved: tuple[SavedStorage, ...]
    peak_bytes: int
    peak_phase: str
    peak_scope: str
    at_peak: HeldAtPeak
    attention: str
    notes: tuple[str, ...] = ()

    @property
    def saved_bytes(self) -> int:
        """What is kept for the backward pass, parameters and buffers left out, each storage once."""
        return sum(one.bytes for one in self.saved if one.is_counted)
