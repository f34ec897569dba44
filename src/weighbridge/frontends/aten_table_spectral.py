"""PyTorch's Fourier transforms and operators on complex numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.frontends.aten_call import As, AtenCall, Rule
from weighbridge.frontends.aten_steps import axis_of, constant, made_shape, one, unchanged
from weighbridge.frontends.foreign import Step
from weighbridge.graph import Attribute, TensorType

__all__ = ["RULES_SPECTRAL"]


def _is_complex(kind: TensorType) -> bool:
    return kind.dtype.kind == "complex"


def _axes(call: AtenCall, rank: int) -> tuple[int, ...]:
    """Axes of a transform: one, two or all, unless they are named, or as many of the last as there are sizes."""
    named = call.integers("dim")
    sizes = call.integers("s")
    if not named:
        count = 1 if call.op[-1] not in "2n" else 2 if call.op[-1] == "2" else len(sizes) or rank
        named = tuple(range(-count, 0))
    return tuple(axis_of(dim, rank) for dim in named)


def _is_scaled(call: AtenCall, *, inverse: bool) -> bool:
    """By 1/n, or its root: the inverse unless said otherwise, both or the other one if ``norm`` says so."""
    norm = call.get("norm")
    return norm == "ortho" or (norm == "forward") != inverse


def _transform(call: AtenCall, form: str, *, inverse: bool) -> Sequence[Step]:
    """``fft_fft`` and its like: ``n`` or ``s`` are the sizes that x is padded or cropped to; -1 leaves one as it is."""
    kind = call.type("self")
    axes = _axes(call, len(kind.shape))
    sizes = list(call.integers("s") or call.integers("n") or (-1,) * len(axes))
    for place, axis in enumerate(axes):
        if sizes[place] < 0:
            is_mirrored = form == "half_to_real" and place == len(axes) - 1
            sizes[place] = 2 * (kind.shape[axis] - 1) if is_mirrored else kind.shape[axis]
    found = "real_to_full" if form == "complex" and not _is_complex(kind) else form
    return (_step(call, call.operand("self"), axes, tuple(sizes), found, _is_scaled(call, inverse=inverse)),)


def _transformed(form: str, *, inverse: bool) -> Rule:
    def rule(call: AtenCall) -> Sequence[Step]:
        return _transform(call, form, inverse=inverse)

    return rule


def _step(
    call: AtenCall, x: str, axes: tuple[int, ...], sizes: tuple[int, ...], form: str, scaled: bool, into: str = ""
) -> Step:
    attributes: dict[str, Attribute] = {"axes": axes, "sizes": sizes, "form": form, "scaled": scaled}
    return Step("fourier_transform", [("x", x)], attributes, (into or call.outputs[0],))


def _mirrored(form: str, *, inverse: bool) -> Rule:
    """Of values whose spectrum is real: the conjugate goes in, or comes out, of the other direction."""

    def rule(call: AtenCall) -> Sequence[Step]:
        inner = call.inner("conjugate")
        (step,) = _transform(call, form, inverse=inverse)
        if form == "half_to_real":
            return (one(call, "conjugate")._replace(outputs=(inner,)), step._replace(operands=[("x", inner)]))
        return (step._replace(outputs=(inner,)), Step("conjugate", [("x", inner)], {}, call.outputs))

    return rule


def _kernel(form: str) -> Rule:
    """The kernels below: axes are named, the sizes are those of x, and a number says how it is scaled."""

    def rule(call: AtenCall) -> Sequence[Step]:
        shape = call.type("self").shape
        axes = tuple(axis_of(dim, len(shape)) for dim in call.integers("dim"))
        sizes = [shape[axis] for axis in axes]
        found = form
        if form == "half_to_real":
            sizes[-1] = call.integer("last_dim_size")
        elif form == "real_to_half" and not call.get("onesided", True):
            found = "real_to_full"
        return (_step(call, call.operand("self"), axes, tuple(sizes), found, call.integer("normalization") != 0),)

    return rule


def _shift(call: AtenCall) -> Sequence[Step]:
    """Half of every axis to the other side; an odd one moves one less on the way back."""
    shape = call.type("self").shape
    axes = tuple(axis_of(dim, len(shape)) for dim in call.integers("dim")) or tuple(range(len(shape)))
    shifts = tuple(shape[axis] // 2 if call.op == "aten.fft_fftshift" else -(shape[axis] // 2) for axis in axes)
    return (one(call, "roll", {"shifts": shifts, "axes": axes}),)


def _frequencies(call: AtenCall) -> dict[str, Attribute]:
    return {"size": made_shape(call)[0], "dtype": call.made[0].dtype.name}


def _window(call: AtenCall, size: int) -> tuple[list[Step], str]:
    """The window, with zeros around it where it is shorter than the transform; "" where there is none."""
    if not call.has("window"):
        return [], ""
    window, length = call.operand("window"), call.type("window").elements
    if length == size:
        return [], window
    before, padded = (size - length) // 2, call.inner("window")
    pads = (before, size - length - before)
    return [Step("pad", [("x", window)], {"pads": pads, "axes": (0,)}, (padded,))], padded


def _short_time(call: AtenCall) -> Sequence[Step]:
    """Windows of the signal side by side, weighted and transformed; frequencies come before the time."""
    size = call.integer("n_fft")
    hop = call.integer("hop_length", size // 4)
    kind, x = call.type("self"), call.operand("self")
    rank = len(kind.shape)
    steps, window = _window(call, size)
    if call.overload == "center" and call.get("center", True):
        padded = call.inner("padded")
        mode = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}.get(str(call.get("pad_mode", "reflect")))
        attributes: dict[str, Attribute] = {"pads": (size // 2,) * 2, "axes": (rank - 1,), "mode": mode or "constant"}
        steps.append(Step("pad", [("x", x)], attributes, (padded,)))
        x = padded
    framed = call.inner("framed")
    steps.append(Step("windows", [("x", x)], {"axis": rank - 1, "size": size, "step": hop}, (framed,)))
    if window:
        weighted = call.inner("weighted")
        steps.append(Step("mul", [("a", framed), ("b", window)], {}, (weighted,)))
        framed = weighted
    one_sided = call.get("onesided")
    is_half = not _is_complex(kind) and (one_sided is None or bool(one_sided))
    form = "complex" if _is_complex(kind) else "real_to_half" if is_half else "real_to_full"
    spectrum, scaled = call.inner("spectrum"), bool(call.get("normalized", False))
    steps.append(_step(call, framed, (rank,), (size,), form, scaled, spectrum))
    order = (*range(rank - 1), rank, rank - 1)
    if _is_complex(call.made[0]):
        return [*steps, Step("transpose", [("x", spectrum)], {"permutation": order}, call.outputs)]
    turned = call.inner("turned")
    return [
        *steps,
        Step("transpose", [("x", spectrum)], {"permutation": order}, (turned,)),
        Step("complex_to_real", [("x", turned)], {}, call.outputs),
    ]


def _overlapped(call: AtenCall, x: str, into: str, size: int, hop: int, frames: int) -> Step:
    """Windows, one a column, added up where they overlap."""
    length = size + hop * (frames - 1)
    attributes: dict[str, Attribute] = {"image_shape": (length,), "block_shape": (size,), "stride": (hop,)}
    return Step("col2im", [("x", x)], attributes, (into,))


def _inverse_short_time(call: AtenCall) -> Sequence[Step]:
    """Every window transformed back, weighted and added up, divided by what the squares of the windows add up to."""
    size, kind = call.integer("n_fft"), call.type("self")
    hop, frames = call.integer("hop_length", size // 4), kind.shape[-1]
    names = (
        "batch",
        "windows",
        "weighted",
        "signal",
        "squares",
        "row",
        "everywhere",
        "envelope",
        "divided",
        "cut",
    )
    batch, windows, weighted, signal, squares, row, everywhere, envelope, divided, cut = map(call.inner, names)
    steps, window = _window(call, size)
    if not window:
        steps, window = [constant(call, "window", "float32", (size,))], call.inner("window")
    form = "complex" if _is_complex(call.made[0]) or call.get("onesided") is False else "half_to_real"
    start = size // 2 if call.get("center", True) else 0
    length = made_shape(call)[-1]
    whole = size + hop * (frames - 1)
    steps += [
        one(call, "reshape", {"shape": (-1, *kind.shape[-2:])})._replace(outputs=(batch,)),
        _step(call, batch, (1,), (size,), form, True, windows),
        Step("unsqueeze", [("x", window)], {"axes": (0, 2)}, (row,)),
        Step("mul", [("a", windows), ("b", row)], {}, (weighted,)),
        _overlapped(call, weighted, signal, size, hop, frames),
        Step("square", [("x", row)], {}, (squares,)),
        Step("expand", [("x", squares)], {"shape": (1, size, frames)}, (everywhere,)),
        _overlapped(call, everywhere, envelope, size, hop, frames),
        Step("div", [("a", signal), ("b", envelope)], {}, (divided,)),
        Step("slice", [("x", divided)], {"starts": (start,), "ends": (start + length,), "axes": (2,)}, (cut,)),
    ]
    if start + length > whole:
        padded = call.inner("padded")
        pads = (0, start + length - whole)
        steps.append(Step("pad", [("x", cut)], {"pads": pads, "axes": (2,)}, (padded,)))
        cut = padded
    return [*steps, Step("reshape", [("x", cut)], {"shape": made_shape(call)}, call.outputs)]


def _real(call: AtenCall) -> Sequence[Step]:
    """The real part of real numbers is the numbers."""
    return (one(call, "real_part"),) if _is_complex(call.type("self")) else unchanged(call)


def _conjugate(call: AtenCall) -> Sequence[Step]:
    return (one(call, "conjugate"),) if _is_complex(call.type("self")) else unchanged(call)


def _adjoint(call: AtenCall) -> Sequence[Step]:
    """The conjugate of the transpose."""
    rank = call.rank("self")
    order = (*range(rank - 2), rank - 1, rank - 2)
    if not _is_complex(call.type("self")):
        return (one(call, "transpose", {"permutation": order}),)
    turned = call.inner("turned")
    return (
        one(call, "transpose", {"permutation": order})._replace(outputs=(turned,)),
        Step("conjugate", [("x", turned)], {}, call.outputs),
    )


_FORMS: Final = (
    ("fft", "complex", False),
    ("ifft", "complex", True),
    ("rfft", "real_to_half", False),
    ("irfft", "half_to_real", True),
)

RULES_SPECTRAL: Final[Mapping[str, Rule]] = {
    **{
        f"aten.fft_{name}{axes}": _transformed(form, inverse=inverse)
        for name, form, inverse in _FORMS
        for axes in ("", "2", "n")
    },
    **{f"aten.fft_hfft{axes}": _mirrored("half_to_real", inverse=False) for axes in ("", "2", "n")},
    **{f"aten.fft_ihfft{axes}": _mirrored("real_to_half", inverse=True) for axes in ("", "2", "n")},
    "aten._fft_r2c": _kernel("real_to_half"),
    "aten._fft_c2r": _kernel("half_to_real"),
    "aten._fft_c2c": _kernel("complex"),
    "aten.fft_fftshift": _shift,
    "aten.fft_ifftshift": _shift,
    "aten.fft_fftfreq": As("linspace", "", _frequencies),
    "aten.fft_rfftfreq": As("linspace", "", _frequencies),
    "aten.stft": _short_time,
    "aten.istft": _inverse_short_time,
    "aten.complex": As("complex", "a=real b=imag"),
    "aten.polar": As("polar", "a=abs b=angle"),
    "aten.real": _real,
    "aten.imag": As("imaginary_part", "x=self"),
    "aten.angle": As("angle", "x=self"),
    "aten.conj": _conjugate,
    "aten._conj": _conjugate,
    "aten.conj_physical": _conjugate,
    "aten._conj_physical": _conjugate,
    "aten.mH": _adjoint,
    "aten.matrix_H": _adjoint,
    "aten.adjoint": _adjoint,
    "aten.view_as_real": As("complex_to_real", "x=self"),
    "aten.view_as_complex": As("real_to_complex", "x=self"),
}
