"""Small modules of every kind, whose step of training is held against PyTorch's hooks and tracker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from tests.torch.real_training import IGNORED, Seen, assert_equal, saved_bytes, seen
from weighbridge.frontends.torch_training import training_run

pytestmark = [pytest.mark.filterwarnings(one) for one in IGNORED]

ROWS = torch.randn(4, 16)
IMAGES = torch.randn(2, 3, 16, 16)
WORDS = torch.randn(2, 6, 16)
INDICES = torch.randint(0, 50, (2, 7))


class Calls(nn.Module):
    """A function as a module, with the modules that it uses."""

    def __init__(self, function: Callable[..., Any], *modules: nn.Module) -> None:
        super().__init__()
        self.function = function
        self.parts = nn.ModuleList(modules)

    def forward(self, *args: Tensor) -> Any:
        return self.function(self.parts, *args)


class Swish(torch.autograd.Function):
    """A function with a backward of its own, which saves what goes in and what comes out."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        gate = x.sigmoid()
        ctx.save_for_backward(x, gate)
        return x * gate

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        x, gate = ctx.saved_tensors
        return gradients[0] * (gate + x * gate * (1 - gate))


def _block() -> nn.Sequential:
    return nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16))


def _tied() -> nn.Sequential:
    layer = nn.Linear(16, 16)
    return nn.Sequential(layer, nn.Tanh(), layer, nn.GELU(), layer)


LAYERS: dict[str, tuple[Callable[[], nn.Module], Tensor]] = {
    "linear": (lambda: nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 5)), ROWS),
    "in place": (lambda: nn.Sequential(nn.Linear(16, 32), nn.ReLU(inplace=True), nn.Linear(32, 5)), ROWS),
    "tied": (_tied, ROWS),
    "dropout": (lambda: nn.Sequential(nn.Linear(16, 32), nn.Dropout(0.3), nn.Linear(32, 5)), ROWS),
    "transposed": (
        lambda: nn.Sequential(nn.ConvTranspose2d(3, 8, 3, stride=2), nn.PReLU(), nn.Upsample(scale_factor=2)),
        IMAGES,
    ),
    "one dimension": (
        lambda: nn.Sequential(nn.Conv1d(3, 8, 3), nn.ELU(), nn.Conv1d(8, 8, 3, groups=8), nn.Softplus()),
        torch.randn(2, 3, 20),
    ),
    "three dimensions": (
        lambda: nn.Sequential(nn.Conv3d(3, 4, 3), nn.BatchNorm3d(4), nn.LeakyReLU(0.1, inplace=True)),
        torch.randn(2, 3, 6, 6, 6),
    ),
    "channels last": (
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3)).to(
            memory_format=torch.channels_last
        ),
        IMAGES.to(memory_format=torch.channels_last),
    ),
    "frozen statistics": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8).eval(), nn.ReLU()), IMAGES),
    "embedding": (lambda: nn.Sequential(nn.Embedding(50, 16), nn.LayerNorm(16), nn.Linear(16, 50)), INDICES),
    "embedding bag": (lambda: nn.Sequential(nn.EmbeddingBag(50, 16), nn.Linear(16, 4)), INDICES),
    "embedding bag, maxima": (lambda: nn.Sequential(nn.EmbeddingBag(50, 16, mode="max"), nn.Linear(16, 4)), INDICES),
    "lstm": (lambda: nn.LSTM(16, 8, 2), torch.randn(5, 3, 16)),
    "lstm, both ways": (
        lambda: nn.LSTM(16, 64, 2, bidirectional=True, batch_first=True, dropout=0.1),
        torch.randn(3, 20, 16),
    ),
    "lstm without biases": (lambda: nn.LSTM(300, 256, bias=False), torch.randn(7, 5, 300)),
    "lstm with projections": (lambda: nn.LSTM(16, 8, proj_size=4), torch.randn(5, 3, 16)),
    "gru": (lambda: nn.GRU(16, 8, 2), torch.randn(5, 3, 16)),
    "rnn": (lambda: nn.RNN(16, 8), torch.randn(5, 3, 16)),
    "encoder": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2), WORDS),
    "double": (lambda: nn.Sequential(nn.Linear(16, 32), nn.GELU("tanh"), nn.Linear(32, 5)).double(), ROWS.double()),
    "bfloat16": (lambda: nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32)).bfloat16(), ROWS.bfloat16()),
    "weight norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(16, 8)), ROWS),
    "an input with a gradient": (_block, ROWS.clone().requires_grad_()),
}
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[nn.Module, ...], Tensor]] = {
    "residual": (lambda m, x: m[1](x + m[0](x)) + x, (nn.Linear(16, 16), nn.Linear(16, 16)), ROWS),
    "weights by a function": (
        lambda m, x: functional.softmax(x @ m[0].weight.t(), -1).pow(2).mean(),
        (nn.Linear(16, 8),),
        ROWS,
    ),
    "einsum": (
        lambda m, x: torch.einsum("bi,ij,kj->bk", x, m[0].weight.t(), m[1].weight),
        (nn.Linear(16, 8), nn.Linear(8, 8)),
        ROWS,
    ),
    "indices and masks": (
        lambda m, x: m[0](x)[:, torch.tensor([0, 2])].masked_fill(x[:, :2] > 0, 0.0).cumsum(1),
        (nn.Linear(16, 16),),
        ROWS,
    ),
    "sampling": (
        lambda m, x: functional.grid_sample(m[0](x), x.permute(0, 2, 3, 1)[..., :2].tanh(), align_corners=False),
        (nn.Conv2d(3, 4, 3),),
        IMAGES,
    ),
    "spectrum": (lambda m, x: torch.fft.irfft(torch.fft.rfft(m[0](x)) * 2), (nn.Linear(16, 8),), ROWS),
    "dictionary": (
        lambda m, x: {"a": m[0](x), "b": [m[1](x)], "n": x.argmax()},
        (nn.Linear(16, 3), nn.Linear(16, 4)),
        ROWS,
    ),
    "a loss": (
        lambda m, x: functional.cross_entropy(m[0](x), torch.zeros(4, dtype=torch.long)),
        (nn.Linear(16, 8),),
        ROWS,
    ),
    "a function of its own": (lambda m, x: Swish.apply(m[0](x)), (nn.Linear(16, 8),), ROWS),
    "unused": (lambda m, x: (m[0](x), m[1](x).exp())[0], (nn.Linear(16, 16), nn.Linear(16, 16)), ROWS),
    "checkpoint": (lambda m, x: m[1](checkpoint(m[0], x, use_reentrant=False)), (_block(), nn.Linear(16, 2)), ROWS),
    "reentrant checkpoint": (
        lambda m, x: m[2](checkpoint(m[0], m[1](x), use_reentrant=True)),
        (_block(), nn.Linear(16, 16), nn.Linear(16, 2)),
        ROWS,
    ),
    "attention": (lambda m, x: m[0](x, x, x)[0], (nn.MultiheadAttention(16, 4, batch_first=True),), WORDS),
    "flash attention": (
        lambda m, x: m[0](x, x, x, need_weights=False)[0],
        (nn.MultiheadAttention(16, 4, batch_first=True),),
        WORDS,
    ),
    "attention with a mask": (
        lambda m, x: functional.scaled_dot_product_attention(
            *([m[0](x)[None]] * 3), attn_mask=torch.ones(6, 6, dtype=torch.bool).tril()
        ),
        (nn.Linear(16, 16),),
        WORDS,
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    made, values = LAYERS[name]
    assert_equal(made(), values)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    function, modules, values = FUNCTIONS[name]
    assert_equal(Calls(function, *modules), values)


def test_two_inputs() -> None:
    layer = nn.TransformerDecoderLayer(16, 4, 32, batch_first=True, dropout=0)
    assert_equal(nn.TransformerDecoder(layer, 2), WORDS, torch.randn(2, 5, 16))


def test_the_second_run_is_as_the_first() -> None:
    """What PyTorch remembers of calls without values does not show."""
    network = nn.Sequential(nn.Linear(48, 16), nn.LayerNorm(16))
    values = torch.randn(3, 5, 48)
    assert training_run(network, (values,), {}) == training_run(network, (values,), {})
    recurrent = nn.LSTM(11, 7)
    steps = torch.randn(3, 2, 11)
    assert training_run(recurrent, (steps,), {}) == training_run(recurrent, (steps,), {})


def test_complex_results_count_their_parts() -> None:
    network = Calls(lambda m, x: torch.fft.fft(m[0](x)), nn.Linear(16, 8))
    run = training_run(network, (ROWS,), {})
    assert run.saved_bytes == saved_bytes(network, (ROWS,), {})
    assert run.peak_phase == "backward"


def test_scopes_and_operations() -> None:
    network = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 196, 4))
    run = assert_equal(network, IMAGES)
    found = [(one.scope, one.by, one.kind, one.bytes) for one in run.saved]
    assert ("0", "Convolution", "input", IMAGES.nbytes) in found
    assert ("0", "Convolution", "parameter", 8 * 3 * 9 * 4) in found
    assert ("1", "NativeBatchNorm", "activation", 2 * 8 * 14 * 14 * 4) in found
    assert ("1", "NativeBatchNorm", "buffer", 8 * 4) in found
    assert ("2", "Relu", "activation", 2 * 8 * 14 * 14 * 4) in found
    assert [(one.by, one.kind) for one in run.saved if one.scope == "4"] == [("Addmm", "parameter")]
    assert run.saved_bytes == sum(one.bytes for one in run.saved if one.kind in ("activation", "input"))


def test_constants_are_saved_and_are_no_buffers() -> None:
    scale = torch.randn(4, 8)
    run = assert_equal(Calls(lambda m, x: m[0](x) * scale, nn.Linear(16, 8)), ROWS)
    assert [one.bytes for one in run.saved if one.kind == "constant"] == [scale.nbytes]


def test_what_is_saved_for_nothing_is_said() -> None:
    run = assert_equal(Calls(*FUNCTIONS["unused"][:1], *FUNCTIONS["unused"][1]), ROWS)
    assert any(note.startswith("2 trained parameters got no gradient") for note in run.notes)
    assert any(note.startswith("256 B of what was saved were free again") for note in run.notes)
    assert not any("free again" in note for note in assert_equal(nn.Linear(16, 4), ROWS).notes)


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: m[0](x) if x.sum() > -1e9 else x,
        lambda m, x: m[0](x[x[:, 0] > -1e9]),
        lambda m, x: m[0](x) + torch.from_numpy(x.numpy()[:, :8]),
    ],
)
def test_modules_that_need_values_run_with_them(function: Callable[..., Any]) -> None:
    network = Calls(function, nn.Linear(16, 8))
    run = training_run(network, (ROWS,), {})
    assert "ran with values" in run.notes[0]
    assert Seen(run.saved_bytes, run.peak_bytes) == seen(network, ROWS)


def test_lazy_modules_get_their_sizes_first() -> None:
    lazy = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(3))
    sized = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))
    assert training_run(lazy, (ROWS,), {}) == assert_equal(sized, ROWS)
    assert isinstance(lazy[0], nn.LazyLinear)


def test_eval_mode_is_left_for_the_step_and_said() -> None:
    network = nn.Sequential(nn.Linear(16, 32), nn.Dropout(0.5), nn.Linear(32, 4))
    trained = training_run(network, (ROWS,), {})
    run = training_run(network.eval(), (ROWS,), {})
    assert run.saved == trained.saved
    assert any("eval mode" in note for note in run.notes)
    assert not network.training
