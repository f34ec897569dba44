"""Calls of PyTorch's operators that make tensors from sizes and numbers."""

from __future__ import annotations

import torch

from tests.torch.one_call import Example, example, given

aten = torch.ops.aten


def _added(x, function, *sizes):
    """What a function makes of sizes alone, used."""
    return function(*sizes) + x


# Functions of one tensor and functions of two that take nothing else.


GENERATORS: dict[str, Example] = {
    **{
        f"{name} from sizes": example(given(_added, getattr(torch, name), 2, 3), "")
        for name in ("zeros", "ones", "empty", "rand", "randn")
    },
    "full": example(lambda x: torch.full((2, 3), 7.0) + x, ""),
    "full_like": example(lambda x: torch.full_like(x, 7.0), "a b"),
    "empty_strided": example(lambda x: torch.empty_strided((2, 3), (3, 1)) + x, ""),
    "empty_permuted": example(lambda x: torch.empty_permuted((2, 3), (1, 0)) + x, ""),
    "scalar_tensor": example(lambda x: torch.scalar_tensor(3.0) + x, "a"),
    **{name: example(lambda x, f=name: getattr(x, f)((2, 3)), "a") for name in ("new_zeros", "new_ones", "new_empty")},
    "new_full": example(lambda x: x.new_full((2, 3), 1.0), "a"),
    "new_empty_strided": example(lambda x: x.new_empty_strided((2, 3), (3, 1)), "a"),
    "tril_indices": example(lambda x: torch.tril_indices(3, 4) + x, "i:"),
    "triu_indices": example(lambda x: torch.triu_indices(3, 4) + x, "i:"),
    "fill": example(lambda x: x.fill_(3.0), "a b"),
    "fill by a tensor": example(lambda x, y: x.fill_(y), "a b", ""),
    "fill by an integer": example(lambda x, y: x.fill_(y), "a b", "i:"),
    "arange": example(lambda x: torch.arange(5) + x, "5"),
    "arange by steps": example(lambda x: torch.arange(1, 2.1, 0.25) + x, ""),
    "range": example(lambda x: aten.range(0, 4, 1) + x, ""),
    "linspace": example(lambda x: torch.linspace(0, 1, 5) + x, ""),
    "logspace": example(lambda x: torch.logspace(0, 1, 5) + x, ""),
    "eye": example(lambda x: torch.eye(3) + x, ""),
    "eye of a rectangle": example(lambda x: torch.eye(3, 5) + x, ""),
    **{
        f"{name}_window": example(given(_added, getattr(torch, f"{name}_window"), 6), "")
        for name in ("hann", "hamming", "blackman")
    },
    "randint": example(lambda x: torch.randint(0, 9, (2, 3)) + x, ""),
    "randint_like": example(lambda x: torch.randint_like(x, 9), "a b"),
    "log_normal": example(lambda x: x.log_normal_(), "a b"),
    "randperm": example(lambda x: torch.randperm(5) + x, ""),
    "normal of numbers": example(lambda x: torch.normal(0.0, 1.0, (2, 3)) + x, ""),
    "normal of tensors": example(torch.normal, "a b", "a b"),
    "normal of a mean": example(lambda x: torch.normal(x, 2.0), "a b"),
    "normal of a deviation": example(lambda x: torch.normal(2.0, x), "a b"),
    "bernoulli of a probability": example(lambda x: torch.bernoulli(x, 0.3), "a b"),
    "bernoulli in place": example(lambda x: x.bernoulli_(0.3), "a b"),
    "bernoulli by a tensor": example(lambda x, p: x.bernoulli_(p), "a b", "b"),
    "multinomial": example(lambda x: torch.multinomial(x, 2), "a b"),
    "multinomial of a row": example(lambda x: torch.multinomial(x, 2), "b"),
}
