"""One call of a PyTorch operator through the table, and PyTorch's own count of what it is made of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from weighbridge.counts import count
from weighbridge.counts.facts import NetworkFacts
from weighbridge.frontends.aten_call import AtenCall, AtenTensor, Program, Ref
from weighbridge.frontends.aten_graph import build
from weighbridge.frontends.torch_capture import dtype_of, type_of
from weighbridge.graph import Graph, Role

__all__ = ["decomposed_macs", "graph_of", "weighed"]


def graph_of(operator: Any, *args: Any, made: Any = None, **kwargs: Any) -> Graph:
    """The graph of one call, such as ``torch.ops.aten.mm.default``; ``made`` are results for which it need not run.

    Tensors are inputs, parameters stay parameters; a result given as None is read by nobody.
    """
    if made is None:
        with torch.inference_mode():
            made = operator(*args, **kwargs)
    results = list(made) if isinstance(made, tuple | list) else [made]
    tensors: dict[str, AtenTensor] = {}
    seen: dict[int, str] = {}

    def plain(value: Any, name: str) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) not in seen:
                role = Role.PARAMETER if isinstance(value, torch.nn.Parameter) else Role.INPUT
                tensors[name] = AtenTensor(name, type_of(value), role)
                seen[id(value)] = name
            return Ref(seen[id(value)])
        if isinstance(value, list | tuple):
            return tuple(plain(one, f"{name}.{place}") for place, one in enumerate(value))
        return dtype_of(value).name if isinstance(value, torch.dtype) else value

    op, overload, names = _named(operator)
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    arguments = {name: plain(value, name) for name, value in given.items()}
    outputs = tuple("" if one is None else f"y:{place}" for place, one in enumerate(results))
    types = tuple(type_of(torch.empty(0) if one is None else one) for one in results)
    read = {one.id: one.type for one in tensors.values()}
    call = AtenCall("call", op, overload, arguments, outputs, types, read)
    inputs = tuple(one.id for one in tensors.values() if one.role is Role.INPUT)
    return build(Program("one", tuple(tensors.values()), (call,), inputs, tuple(filter(None, outputs)), "by hand"))


def _named(operator: Any) -> tuple[str, str, list[str]]:
    """The name, the overload and the names of the arguments of an operator; one given by its name takes only named ones."""
    if isinstance(operator, str):
        return operator, "default", []
    schema = operator._schema
    names = [argument.name for argument in schema.arguments]
    return schema.name.replace("::", ".").rstrip("_"), operator._overloadname, names


def weighed(operator: Any, *args: Any, made: Any = None, **kwargs: Any) -> NetworkFacts:
    """The facts of one call.  That our shapes are PyTorch's is part of it: a difference makes the call unknown."""
    graph = graph_of(operator, *args, made=made, **kwargs)
    facts = count(graph, graph)
    assert facts.exact, facts.uncounted
    return facts


@contextmanager
def _plain_kernels() -> Iterator[None]:
    """Without oneDNN, whose recurrent layers PyTorch does not count."""
    before = torch.backends.mkldnn.enabled
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(before)


def decomposed_macs(operator: Any, *args: Any, **kwargs: Any) -> int:
    """What PyTorch counts in the matrix products and convolutions that it takes the call apart into."""
    with (
        torch.no_grad(),
        _plain_kernels(),
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
        FlopCounterMode(display=False) as counter,
    ):
        operator(*args, **kwargs)
    flops = counter.get_total_flops()
    assert flops % 2 == 0
    return flops // 2
