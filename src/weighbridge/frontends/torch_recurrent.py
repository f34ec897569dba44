"""What PyTorch allocates for recurrent layers on a processor, where it multiplies all of a sequence by the input weights first.

On tensors without values it goes step by step.  Here the operators of the other way are called in its order, with
variables that hold what its own hold, so that the storages it makes are seen.  LSTMs of float32 are layers of oneDNN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor
from torch.nn.functional import linear
from torch.utils._python_dispatch import TorchDispatchMode

from weighbridge.named_tuple import NamedTuple

if TYPE_CHECKING:
    from weighbridge.frontends.torch_storage import Storages

__all__ = ["RECURRENT"]


class _Call(NamedTuple):
    """The arguments that all recurrent operators share, in the order of their schemas."""

    values: Tensor
    hidden: Any
    parameters: list[Tensor]
    has_biases: bool
    layers: int
    dropout: float
    train: bool
    bidirectional: bool
    batch_first: bool

    @property
    def directions(self) -> int:
        return 2 if self.bidirectional else 1

    def drops(self, layer: int) -> bool:
        """Whether values are dropped behind a layer."""
        return bool(self.dropout) and self.train and layer < self.layers - 1


class _Weights(NamedTuple):
    """The parameters of one direction of one layer."""

    ih: Tensor
    hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None
    projection: Tensor | None

    def of_input(self, values: Tensor) -> Tensor:
        return linear(values, self.ih, self.bias_ih)

    def of_hidden(self, hidden: Tensor) -> Tensor:
        return linear(hidden, self.hh, self.bias_hh)


def _lstm(storages: Storages, mode: TorchDispatchMode, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    call = _Call(*args, **kwargs)
    has_projections = call.hidden[0].shape[2] != call.hidden[1].shape[2]
    if call.values.dtype in (torch.bfloat16, torch.float16):
        storages.unknown.append("which kernel a processor has for an LSTM of 16-bit numbers")
        return NotImplemented
    if call.values.dtype is torch.float32 and call.values.numel() and not has_projections:
        return _by_kernels(storages, mode, call)
    with mode:
        values = call.values.transpose(0, 1) if call.batch_first else call.values
        starts = list(zip(call.hidden[0].unbind(0), call.hidden[1].unbind(0), strict=True))
        outputs, finals = _stack_of_layers(call, values, starts, _lstm_cell, has_projections)
        states, cells = [one[0] for one in finals], [one[1] for one in finals]
        del finals
        stacked = torch.stack(cells)
        return outputs.transpose(0, 1) if call.batch_first else outputs, torch.stack(states), stacked


def _by_kernels(storages: Storages, mode: TorchDispatchMode, call: _Call) -> tuple[Tensor, ...]:
    """One kernel of oneDNN for each direction of each layer."""
    with mode:
        values = call.values.transpose(0, 1) if call.batch_first else call.values
        given = [one.contiguous() for one in (values, *call.hidden)]
    values, states = given[:2]
    last_states, last_cells = [], []
    outputs: list[Any] = [None] * call.directions
    for layer in range(call.layers):
        for direction in range(call.directions):
            place = layer * call.directions + direction
            state = states[place]
            with mode:  # in the place of biases, as large as the weights
                zeros = [] if call.has_biases else [torch.zeros_like(one) for one in _pair(call, place)]
            made = values.new_empty((*values.shape[:2], state.shape[1])), *map(torch.empty_like, (state, state))
            storages.note(made)
            del zeros
            outputs[direction], state, cell = made
            last_states.append(state)
            last_cells.append(cell)
        with mode:
            values = torch.cat(outputs, -1) if call.bidirectional else outputs[0]
            if call.drops(layer):
                values = torch.dropout(values, call.dropout, True)
    with mode:
        stacked = torch.stack(last_states), torch.stack(last_cells)
        return values.transpose(0, 1) if call.batch_first else values, *stacked


def _pair(call: _Call, place: int) -> list[Tensor]:
    """The weights of one direction of one layer without biases, the hidden ones first."""
    return call.parameters[2 * place : 2 * place + 2][::-1]


def _recurrent(
    cell: Callable[..., Any],
    storages: Storages,
    mode: TorchDispatchMode,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Any:
    call = _Call(*args, **kwargs)
    with mode:
        values = call.values.transpose(0, 1) if call.batch_first else call.values
        outputs, finals = _stack_of_layers(call, values, list(call.hidden.unbind(0)), cell, False)
        stacked = torch.stack(finals)
        return outputs.transpose(0, 1) if call.batch_first else outputs, stacked


def _stack_of_layers(
    call: _Call, values: Tensor, starts: list[Any], cell: Callable[..., Any], has_projections: bool
) -> tuple[Tensor, list[Any]]:
    weights = _weights(call, has_projections)
    finals: list[Any] = []
    for layer in range(call.layers):
        start = layer * call.directions
        if call.bidirectional:
            values, *ends = _both_directions(values, starts[start : start + 2], weights[start : start + 2], cell)
            finals += ends
        else:
            values, end = _one_direction(values, starts[layer], weights[layer], cell)
            finals.append(end)
        if call.drops(layer):
            values = torch.dropout(values, call.dropout, True)
    return values, finals


def _one_direction(values: Tensor, hidden: Any, weights: _Weights, cell: Callable[..., Any]) -> tuple[Tensor, Any]:
    steps = weights.of_input(values).unbind(0)
    outputs, hidden = _steps(steps, hidden, weights, cell)
    return torch.stack(outputs), hidden


def _both_directions(
    values: Tensor, hidden: list[Any], weights: list[_Weights], cell: Callable[..., Any]
) -> tuple[Tensor, Any, Any]:
    products = weights[0].of_input(values)
    steps = products.unbind(0)
    outputs, end = _steps(steps, hidden[0], weights[0], cell)
    forward = torch.stack(outputs)
    products = weights[1].of_input(values)
    steps = products.unbind(0)
    back, back_end = _steps(steps[::-1], hidden[1], weights[1], cell)
    return torch.cat((forward, torch.stack(back[::-1])), -1), end, back_end


def _steps(
    steps: tuple[Tensor, ...], hidden: Any, weights: _Weights, cell: Callable[..., Any]
) -> tuple[list[Tensor], Any]:
    outputs = []
    for step in steps:
        hidden = cell(step, hidden, weights)
        outputs.append(hidden[0] if isinstance(hidden, tuple) else hidden)
    return outputs, hidden


def _weights(call: _Call, has_projections: bool) -> list[_Weights]:
    """The parameters by layer and direction: two weights, two biases where there are any, a projection where there is one."""
    each = 2 + 2 * call.has_biases + has_projections
    found = []
    for start in range(0, len(call.parameters), each):
        one: list[Any] = list(call.parameters[start : start + each])
        projection = one.pop() if has_projections else None
        biases = one[2:] if call.has_biases else (None, None)
        found.append(_Weights(one[0], one[1], biases[0], biases[1], projection))
    return found


def _lstm_cell(step: Tensor, hidden: tuple[Tensor, Tensor], weights: _Weights) -> tuple[Tensor, Tensor]:
    gates = weights.of_hidden(hidden[0]).add_(step).unsafe_chunk(4, 1)
    enters, forgets, new, leaves = gates[0].sigmoid_(), gates[1].sigmoid_(), gates[2].tanh_(), gates[3].sigmoid_()
    cell = (forgets * hidden[1]).add_(enters * new)
    state = leaves * cell.tanh()
    if weights.projection is not None:
        state = torch.matmul(state, weights.projection.t())
    return state, cell


def _gru_cell(step: Tensor, hidden: Tensor, weights: _Weights) -> Tensor:
    of_input, of_hidden = step.unsafe_chunk(3, 1), weights.of_hidden(hidden).unsafe_chunk(3, 1)
    reset = of_hidden[0].add_(of_input[0]).sigmoid_()
    update = of_hidden[1].add_(of_input[1]).sigmoid_()
    new = of_input[2].add(of_hidden[2].mul_(reset)).tanh_()
    return (hidden - new).mul_(update).add_(new)


def _simple_cell(function: Callable[[Tensor], Tensor], step: Tensor, hidden: Tensor, weights: _Weights) -> Tensor:
    return function(weights.of_hidden(hidden).add_(step))


def _packed(storages: Storages, mode: TorchDispatchMode, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    storages.unknown.append("what a processor holds for a recurrent layer on packed sequences")
    return NotImplemented


_aten = torch.ops.aten
RECURRENT: Final[Mapping[Any, Callable[..., Any]]] = {
    _aten.lstm.input: _lstm,
    _aten.gru.input: partial(_recurrent, _gru_cell),
    _aten.rnn_tanh.input: partial(_recurrent, partial(_simple_cell, torch.tanh)),
    _aten.rnn_relu.input: partial(_recurrent, partial(_simple_cell, torch.relu)),
    **dict.fromkeys((_aten.lstm.data, _aten.gru.data, _aten.rnn_tanh.data, _aten.rnn_relu.data), _packed),
}
"""What these operators do on a processor; NotImplemented where that is not known."""
