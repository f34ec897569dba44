"""Calls of PyTorch's reductions over axes, running sums, sorting and selection."""

from __future__ import annotations

import torch

from tests.torch.one_call import Example, example, given

aten = torch.ops.aten

_REDUCED = (
    *(
        [
            "sum",
            "mean",
            "amax",
            "amin",
            "nansum",
            "var",
            "std",
            "var_mean",
            "std_mean",
            "logsumexp",
            "special_logsumexp",
            "any",
            "all",
        ]
    ),
)
_ALONG = (
    *(
        [
            "prod",
            "argmax",
            "argmin",
            "max",
            "min",
            "aminmax",
            "cumsum",
            "cumprod",
            "cummax",
            "cummin",
            "logcumsumexp",
            "median",
            "sort",
            "argsort",
        ]
    ),
    *(["any", "all", "count_nonzero"]),
)

REDUCTIONS: dict[str, Example] = {
    **{f"{name} over axes": example(given(getattr(aten, name), [0, -1]), "a b c") for name in _REDUCED},
    **{f"{name} kept": example(given(getattr(aten, name), [1], keepdim=True), "a b c") for name in _REDUCED},
    **{f"{name} along an axis": example(given(getattr(aten, name), dim=1), "a b c") for name in _ALONG},
    "max kept": example(lambda x: aten.max.dim(x, 1, True), "a b c"),
    "the values of max": example(lambda x: aten.max.dim(x, -1)[0], "a b c"),
    "the positions of max": example(lambda x: aten.max.dim(x, -1)[1], "a b c"),
    "max of a number": example(lambda x: aten.max.dim(x, 0), ""),
    "cummax of a number": example(lambda x: aten.cummax(x, 0), ""),
    "argmax kept": example(lambda x: aten.argmax(x, 1, True), "a b c"),
    "frobenius_norm": example(lambda x: aten.frobenius_norm(x, [0, 1]), "a b c"),
    **{f"norm of order {p}": example(lambda x, p=p: torch.norm(x, p, 1), "a b c") for p in (0, 1, 2, 3.5, torch.inf)},
    **{
        f"vector norm of order {p}": example(lambda x, p=p: torch.linalg.vector_norm(x, p, (0, 1)), "a b c")
        for p in (0, 1, 2, 3, -torch.inf)
    },
    "topk": example(lambda x: torch.topk(x, 2, 0), "a b"),
    "kthvalue": example(lambda x: torch.kthvalue(x, 2, 1, keepdim=True), "a b"),
    "the median along": example(lambda x: torch.median(x, 0)[0], "a b"),
    "_unique": example(lambda x: aten._unique(x, True, True), "i:a b"),
    "_unique2": example(lambda x: aten._unique2(x, True, True, True), "i:a b"),
    "unique values": example(torch.unique, "i:a b"),
    "unique_dim": example(lambda x: torch.unique(x, dim=1, return_inverse=True), "i:a b"),
    "unique_consecutive": example(lambda x: torch.unique_consecutive(x, return_counts=True), "i:a b"),
    "nanmean": example(given(torch.nanmean, 1), "a b c"),
    "nanmean of all": example(torch.nanmean, "a b c"),
    "unique_dim_consecutive": example(lambda x: aten.unique_dim_consecutive(x, 0, True, True), "i:a b"),
    "bincount": example(torch.bincount, "i:a"),
    "bincount of weights": example(torch.bincount, "i:a", "a"),
    "bucketize": example(torch.bucketize, "a b", "c"),
    "searchsorted": example(torch.searchsorted, "a c", "a d"),
    "isin": example(torch.isin, "i:a b", "i:c"),
    "isin not": example(lambda x, y: torch.isin(x, y, invert=True), "i:a b", "i:c"),
    "isin of a number": example(lambda x: torch.isin(x, 1), "i:a b"),
    "isin for a number": example(lambda x: torch.isin(1, x), "i:a b"),
    "histc of 7": example(lambda x: torch.histc(x, 7), "a b"),
}
