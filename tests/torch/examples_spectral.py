"""Calls of every operator in PyTorch's table of Fourier transforms and complex numbers."""

from __future__ import annotations

import torch

from tests.torch.one_call import Example, example

aten = torch.ops.aten

_COMPLEX = ("fft", "ifft", "irfft", "hfft")
_REAL = ("fft", "rfft", "ihfft")


def _named(name: str):
    return getattr(torch.fft, name)


EXAMPLES: dict[str, Example] = {
    **{f"{name} of complex": example(_named(name), "c:a b") for name in _COMPLEX},
    **{f"{name} of real": example(_named(name), "a b") for name in _REAL},
    **{f"{name}{n} of complex": example(_named(f"{name}{n}"), "c:a b c") for name in _COMPLEX for n in "2n"},
    **{f"{name}{n} of real": example(_named(f"{name}{n}"), "a b c") for name in _REAL for n in "2n"},
    "fft to a size": example(lambda x: torch.fft.fft(x, 7, 0, "ortho"), "a b"),
    "irfft to a size": example(lambda x: torch.fft.irfft(x, 7), "c:a b"),
    "fftn to sizes": example(lambda x: torch.fft.fftn(x, (4, 8)), "c:a b c"),
    "irfft2 to sizes": example(lambda x: torch.fft.irfft2(x, (4, 8)), "c:a b c"),
    "irfftn over axes": example(lambda x: torch.fft.irfftn(x, dim=(0, 1)), "c:a b c"),
    "rfftn to sizes": example(lambda x: torch.fft.rfftn(x, (-1, 6), (0, 2)), "a b c"),
    "real kernel": example(lambda x: aten._fft_r2c(x, [1], 0, True), "a b"),
    "real kernel to both sides": example(lambda x: aten._fft_r2c(x, [0, 1], 0, False), "a b"),
    "kernel to real": example(lambda x: aten._fft_c2r(x, [1], 2, 6), "c:a 4"),
    "complex kernel": example(lambda x: aten._fft_c2c(x, [1], 0, True), "c:a b"),
    "fftshift": example(torch.fft.fftshift, "a b"),
    "ifftshift": example(lambda x: torch.fft.ifftshift(x, 1), "a b"),
    "fftfreq": example(lambda x: torch.fft.fftfreq(5) + x, ""),
    "rfftfreq": example(lambda x: torch.fft.rfftfreq(5) + x, ""),
    "stft": example(lambda x, w: torch.stft(x, 8, 4, window=w, return_complex=True), "a 32", "8"),
    "stft at the place": example(
        lambda x, w: torch.stft(x, 8, win_length=6, window=w, center=False, return_complex=True), "a 32", "6"
    ),
    "stft of both sides": example(
        lambda x, w: torch.stft(x, 8, 4, window=w, onesided=False, normalized=True, return_complex=True), "a 32", "8"
    ),
    "stft padded below": example(
        lambda x, w: aten.stft.center(x, 8, 4, None, w, True, "reflect", False, True, True), "a 32", "8"
    ),
    "stft in pairs below": example(lambda x, w: aten.stft(x, 8, 4, None, w, False, True, False), "a 32", "8"),
    "istft": example(lambda x, w: torch.istft(x, 8, 4, window=w), "c:a 5 9", "8"),
    "istft to a length": example(lambda x, w: torch.istft(x, 8, 4, window=w, length=40), "c:5 9", "8"),
    "complex": example(torch.complex, "a b", "a b"),
    "polar": example(torch.polar, "a b", "a b"),
    "real": example(lambda x: x.real, "c:a b"),
    "real of real": example(aten.real, "a b"),
    "imag": example(lambda x: x.imag, "c:a b"),
    "angle": example(torch.angle, "c:a b"),
    "conj": example(torch.conj, "c:a b"),
    "conj below": example(aten.conj, "c:a b"),
    "conj of real": example(torch.conj, "a b"),
    "_conj": example(aten._conj, "c:a b"),
    "conj_physical": example(torch.conj_physical, "c:a b"),
    "_conj_physical": example(aten._conj_physical, "c:a b"),
    "mH": example(lambda x: x.mH, "c:a b"),
    "matrix_H": example(aten.matrix_H, "c:a b"),
    "adjoint": example(lambda x: x.adjoint(), "c:a b c"),
    "adjoint of real": example(lambda x: x.adjoint(), "a b c"),
    "view_as_real": example(torch.view_as_real, "c:a b"),
    "view_as_complex": example(torch.view_as_complex, "a b 2"),
    "rotary by complex numbers": example(
        lambda x, y: torch.view_as_real(torch.view_as_complex(x) * torch.polar(torch.ones_like(y), y)).flatten(2),
        "a b 2",
        "a b",
    ),
}
