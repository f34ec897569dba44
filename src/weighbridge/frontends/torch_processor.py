"""Where PyTorch takes another way on a processor than on tensors without values, and what it allocates there.

The rules are those of version 2.14, read off what its operators do on the CPU under ``no_grad``; the tests hold them
against ``MemTracker``, which sees the calls of a real run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import nn

if TYPE_CHECKING:
    from weighbridge.frontends.torch_storage import Storages

__all__ = ["AUXILIARY", "KERNELS", "mark_fast_paths"]

_aten = torch.ops.aten
_FLOATS: Final = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def _given(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name, defaults filled in."""
    found = {}
    for place, argument in enumerate(func._schema.arguments):  # noqa: SLF001 - PyTorch gives no other way to a schema
        if place < len(args):
            found[argument.name] = args[place]
        else:
            found[argument.name] = kwargs.get(
                argument.name, argument.default_value if argument.has_default_value() else None
            )
    return found


def _attention(storages: Storages, mode: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Attention with its scores in blocks, which gives the result and a float32 a query: without dropout, for heads of one size."""
    call = _given(_aten.scaled_dot_product_attention.default, args, kwargs)
    query, key, value, mask = call["query"], call["key"], call["value"], call["attn_mask"]
    if not _is_flash(query, key, value, mask, call["dropout_p"]):
        return NotImplemented
    if mask is not None and mask.dtype is torch.bool:
        with mode:  # the mask as numbers to add: 0 and minus infinity
            zero = torch.scalar_tensor(0.0, dtype=query.dtype, device=query.device)
            other = torch.scalar_tensor(float("-inf"), dtype=query.dtype, device=query.device)
            mask = torch.where(mask, zero, other)
    batch, heads, length, _ = query.shape
    result = query.new_empty((batch, length, heads, value.shape[3])).transpose(1, 2)
    sums = query.new_empty(
        (batch, heads, length), dtype=torch.float32 if query.dtype is not torch.float64 else query.dtype
    )
    storages.note((result, sums))
    return result


def _is_flash(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any, dropout: float) -> bool:
    tensors = (query, key, value)
    return (
        dropout == 0
        and query.dtype in _FLOATS
        and all(tensor.dim() == 4 and tensor.dtype is query.dtype and tensor.numel() for tensor in tensors)
        and query.shape[0] == key.shape[0] == value.shape[0]
        and query.shape[3] == key.shape[3] == value.shape[3]
        and all(tensor.stride(3) == 1 for tensor in tensors)
        and key.shape[1] == value.shape[1]
        and query.shape[1] % key.shape[1] == 0
        and (mask is None or mask.dim() in (2, 4))
    )


def _lstm(storages: Storages, mode: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Layers of an LSTM as oneDNN runs them, each direction in one kernel."""
    call = _given(_aten.lstm.input, args, kwargs)
    values, hidden = call["input"], call["hx"]
    if values.dtype is not torch.float32 or not values.numel() or hidden[0].shape[2] != hidden[1].shape[2]:
        storages.unknown.append("the way of an LSTM with projections, or of another type than float32, on a processor")
        return NotImplemented
    with mode:
        values = (values.transpose(0, 1) if call["batch_first"] else values).contiguous()
        states, cells = hidden[0].contiguous(), hidden[1].contiguous()
    last_states, last_cells = [], []
    directions = 2 if call["bidirectional"] else 1
    for layer in range(call["num_layers"]):
        outputs = []
        for place in range(layer * directions, (layer + 1) * directions):
            made = _lstm_layer(storages, values, states[place])
            outputs.append(made[0])
            last_states.append(made[1])
            last_cells.append(made[2])
        with mode:
            values = outputs[0] if directions == 1 else torch.cat(outputs, -1)
            if call["dropout"] and call["train"] and layer < call["num_layers"] - 1:
                values = torch.dropout(values, call["dropout"], True)
    del outputs, made
    with mode:
        return (
            values.transpose(0, 1) if call["batch_first"] else values,
            torch.stack(last_states),
            torch.stack(last_cells),
        )


def _lstm_layer(storages: Storages, values: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, ...]:
    made = values.new_empty((*values.shape[:2], state.shape[1])), torch.empty_like(state), torch.empty_like(state)
    storages.note(made)
    return made


def _recurrent(storages: Storages, mode: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    storages.unknown.append("the way of a recurrent layer that is no LSTM, or has packed sequences, on a processor")
    return NotImplemented


KERNELS: Final[Mapping[Any, Callable[..., Any]]] = {
    _aten.scaled_dot_product_attention.default: _attention,
    _aten.lstm.input: _lstm,
    **dict.fromkeys(
        (
            _aten.lstm.data,
            _aten.gru.input,
            _aten.gru.data,
            _aten.rnn_tanh.input,
            _aten.rnn_tanh.data,
            _aten.rnn_relu.input,
            _aten.rnn_relu.data,
        ),
        _recurrent,
    ),
}
"""Operators that have another way on a processor, with what they do there; one that does not is NotImplemented."""


def _batch_norm(args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> tuple[int | None, ...] | None:
    """Without training no statistics are saved."""
    is_training = _given(_aten.native_batch_norm.default, args, kwargs)["training"]
    return None if is_training else (None, 0, 0)


def _embedding_bag(args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> tuple[int | None, ...]:
    """A bag's number for each index and one more, and two numbers a bag."""
    call = _given(_aten._embedding_bag_forward_only.default, args, kwargs)  # noqa: SLF001
    indices = call["indices"]
    size = indices.element_size()
    return None, (indices.numel() + 1) * size, result[2].numel() * size, result[2].numel() * size


AUXILIARY: Final[Mapping[Any, Callable[..., tuple[int | None, ...] | None]]] = {
    _aten.native_batch_norm.default: _batch_norm,
    _aten._embedding_bag_forward_only.default: _embedding_bag,  # noqa: SLF001
}
"""Operators whose results have other sizes on a processor: their bytes, None where they are what they are anywhere."""


def mark_fast_paths(model: nn.Module, storages: Storages) -> None:
    """Make modules that PyTorch runs as one kernel in eval mode tell when they do.  ``model`` is a copy of the user's."""
    for module in model.modules():
        if type(module) is nn.MultiheadAttention:
            _mark(module, storages, _is_fast_attention)
        elif type(module) is nn.TransformerEncoderLayer:
            _mark(module, storages, _is_fast_layer)


def _mark(module: nn.Module, storages: Storages, is_fast: Callable[..., bool]) -> None:
    forward = module.forward

    def marked(*args: Any, **kwargs: Any) -> Any:
        if not is_fast(module, *args, **kwargs):
            return forward(*args, **kwargs)
        with storages.one_kernel():
            return forward(*args, **kwargs)

    module.__dict__["forward"] = marked


def _is_fast_attention(module: Any, query: Any, key: Any, value: Any, *masks: Any, **named: Any) -> bool:
    """The conditions that ``torch.nn.MultiheadAttention`` states, for calls without masks."""
    return (
        _is_without_masks(masks, named)
        and query is key
        and key is value
        and query.dim() == 3
        and module.bias_k is None
        and not module.add_zero_attn
        and _is_fast_module(module, query)
    )


def _is_fast_layer(module: Any, src: Any, *masks: Any, **named: Any) -> bool:
    """The conditions that ``torch.nn.TransformerEncoderLayer`` states, for calls without masks."""
    return (
        _is_without_masks(masks, named)
        and src.dim() == 3
        and not module.training
        and bool(module.activation_relu_or_gelu)
        and module.norm1.eps == module.norm2.eps
        and not any(one._forward_hooks or one._forward_pre_hooks for one in module.modules())  # noqa: SLF001
        and _is_fast_module(module.self_attn, src)
    )


def _is_fast_module(module: Any, query: torch.Tensor) -> bool:
    return (
        not module.training
        and module.batch_first
        and module.in_proj_weight is not None
        and module.in_proj_bias is not None
        and query.dtype is module.in_proj_weight.dtype
        and module.num_heads % 2 == 0
        and not torch.is_autocast_enabled()
    )


def _is_without_masks(masks: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    return not any(isinstance(one, torch.Tensor) for one in (*masks, *named.values()))
