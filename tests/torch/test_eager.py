"""The policy eager against PyTorch's own tracker, which watches a real run on the processor: equal to the byte.

The tracker does not know a run's inputs by itself; here it is told of them (``track_external``), as their caller holds them
until the end.  Its figure is then its peak of activations, temporaries and these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.distributed._tools.mem_tracker import MemTracker, _MemRefType
from torch.nn import functional

from weighbridge import weigh
from weighbridge.frontends.from_torch import load_torch
from weighbridge.graph_json import graph_from_json, graph_to_json

pytestmark = [
    pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN:UserWarning"),
    pytest.mark.filterwarnings("ignore:Full backward hook is firing:UserWarning"),
    pytest.mark.filterwarnings("ignore:RNN module weights are not part of single:UserWarning"),
]

BATCHES = (1, 8)
TORCHVISION = {
    "alexnet": 64,
    "convnext_tiny": 32,
    "densenet121": 32,
    "efficientnet_b0": 32,
    "mobilenet_v2": 32,
    "mobilenet_v3_small": 32,
    "resnet18": 64,
    "resnet50": 64,
    "shufflenet_v2_x1_0": 32,
    "squeezenet1_1": 64,
    "swin_t": 32,
    "swin_v2_t": 64,
    "vgg11": 32,
    "vit_b_16": 32,
}
"""Networks and sides of their images, small ones, as what is held does not depend on what is in them."""
TRANSFORMERS = {
    "BertModel": {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128},
    "GPT2LMHeadModel": {"n_embd": 64, "n_layer": 2, "n_head": 4, "bos_token_id": 0, "eos_token_id": 0},
    "LlamaModel": {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 128,
    },
}


def held(model: nn.Module, *args: Any, **kwargs: Any) -> int:
    """The bytes that the tracker has seen alive at once: activations, temporaries and the inputs."""
    tracker = MemTracker()
    tracker.track_external(*(one for one in (*args, *kwargs.values()) if isinstance(one, Tensor)))
    with torch.no_grad(), tracker:
        model(*args, **kwargs)
    peak = tracker.get_tracker_snapshot("peak")[torch.device("cpu")]
    return int(peak[_MemRefType.ACT] + peak[_MemRefType.TEMP] + peak[_MemRefType.OTH])


def eager(model: nn.Module, *args: Any, **kwargs: Any) -> int | None:
    """Our figure."""
    return weigh(model, inputs=args, kwargs=kwargs).memory.peak_bytes.get("eager")


@pytest.fixture(scope="module", params=TORCHVISION)
def torchvision_model(request: pytest.FixtureRequest) -> Iterator[tuple[nn.Module, int]]:
    models = pytest.importorskip("torchvision.models")
    side = TORCHVISION[request.param]
    more = {"image_size": side} if request.param == "vit_b_16" else {}
    yield models.get_model(request.param, **more).eval(), side


def test_torchvision(torchvision_model: tuple[nn.Module, int]) -> None:
    model, side = torchvision_model
    for batch in BATCHES:
        images = torch.zeros(batch, 3, side, side)
        assert eager(model, images) == held(model, images), f"batch {batch}"


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v3_small"])
def test_training(name: str, batch: int) -> None:
    model = pytest.importorskip("torchvision.models").get_model(name).train()
    images = torch.zeros(batch, 3, 64, 64)
    assert eager(model, images) == held(model, images)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("name", ["vit_tiny_patch16_224", "levit_128s"])
def test_timm(name: str, batch: int) -> None:
    model = pytest.importorskip("timm").create_model(name).eval()
    images = torch.zeros(batch, 3, 224, 224)
    assert eager(model, images) == held(model, images)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers(name: str, batch: int) -> None:
    transformers = pytest.importorskip("transformers")
    made = getattr(transformers, name)
    model = made(made.config_class(vocab_size=100, max_position_embeddings=64, **TRANSFORMERS[name])).eval()
    words = torch.zeros(batch, 32, dtype=torch.int64)
    assert eager(model, input_ids=words) == held(model, input_ids=words)


class Calls(nn.Module):
    """A function as a module, with the modules that it uses."""

    def __init__(self, function: Callable[..., Tensor], *modules: nn.Module) -> None:
        super().__init__()
        self.function = function
        self.modules_used = nn.ModuleList(modules)

    def forward(self, *args: Tensor) -> Tensor:
        return self.function(*self.modules_used, *args)


IMAGES = torch.zeros(4, 8, 16, 16)
WORDS = torch.zeros(4, 10, 16)
HEADS = torch.zeros(2, 4, 8, 16)
MASK = torch.zeros(10, 10, dtype=torch.bool)
PADDING = torch.zeros(4, 10, dtype=torch.bool)
attention = functional.scaled_dot_product_attention


def first(module: nn.Module, *args: Tensor) -> Tensor:
    result: Tensor = module(*args)[0]
    return result


FUNCTIONS: dict[str, tuple[Callable[..., Tensor], Tensor]] = {
    "attention": (lambda q: attention(q * 2, q, q), HEADS),
    "attention with a mask of truth values": (lambda q: attention(q, q, q, torch.ones(8, 8, dtype=torch.bool)), HEADS),
    "attention with a mask of numbers": (lambda q: attention(q, q, q, torch.ones(2, 1, 8, 8)), HEADS),
    "attention with a mask of three dimensions": (lambda q: attention(q, q, q, torch.ones(4, 8, 8)), HEADS),
    "causal attention": (lambda q: attention(q[:, :, :3] * 2, q, q, is_causal=True), HEADS),
    "grouped queries": (lambda q: attention(q * 2, q[:, :2], q[:, :2], enable_gqa=True), HEADS),
    "attention to other sizes": (lambda q: attention(q * 2, q, q[..., :8]), HEADS),
    "attention with dropout": (lambda q: attention(q * 2, q, q, dropout_p=0.1), HEADS),
    "attention without a batch": (lambda q: attention(q[0] * 2, q[0], q[0]), HEADS),
    "attention across memory": (lambda q: attention(q.mT * 2, q.mT, q.mT), HEADS),
    "attention in bfloat16": (lambda q: attention(q * 2, q, q), HEADS.bfloat16()),
    "attention in float64": (lambda q: attention(q * 2, q, q), HEADS.double()),
    "products of what lies across memory": (lambda x: x.transpose(1, 2) @ x.transpose(1, 2).mT, IMAGES),
    "einsum": (lambda x: torch.einsum("bchw,bcHw->bchH", x, x), IMAGES),
    "max pooling has indices": (lambda x: functional.max_pool2d(x, 2), IMAGES),
    "pooling to one value": (lambda x: functional.adaptive_avg_pool2d(x, 1), IMAGES),
    "in place": (lambda x: functional.relu_(x + 1).mul_(2).add_(1), IMAGES),
    "a reshape that copies": (lambda x: x.transpose(1, 2).reshape(4, -1).relu(), IMAGES),
    "a reshape that does not": (lambda x: x.reshape(4, -1).relu(), IMAGES),
    "channels last": (lambda x: x.to(memory_format=torch.channels_last).flatten(1) * 2, IMAGES),
    "normalisation": (lambda x: functional.layer_norm(x, [16]), IMAGES),
    "groups": (lambda x: functional.group_norm(x, 2), IMAGES),
    "instances": (functional.instance_norm, IMAGES),
    "padding to the same size": (lambda x: functional.conv2d(x, torch.ones(3, 8, 4, 4), padding="same"), IMAGES),
    "parts of one storage": (lambda x: sum(x.relu().chunk(2, 1), torch.zeros(())), IMAGES),
    "a mask made on the way": (lambda x: x.masked_fill(torch.ones(16, 16).tril() == 0, 1.0), IMAGES),
    "numbers made into a tensor": (
        lambda x: (x * torch.arange(16.0) + torch.tensor([1.0] * 16)) * x.new_ones(16),
        IMAGES,
    ),
    "a result with room of its own": (lambda x: torch.cat([x, x], out=torch.empty(0)), IMAGES),
    "spectra": (lambda x: torch.fft.rfft2(x).abs(), IMAGES),
    "a loss": (lambda x: functional.cross_entropy(x.flatten(1), torch.zeros(4, dtype=torch.int64)), IMAGES),
    "other types": (lambda x: x.half().float(), IMAGES),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    function, given = FUNCTIONS[name]
    model = Calls(function)
    assert eager(model, given) == held(model, given)


BATCH_FIRST = {"batch_first": True}
LAYERS: dict[str, tuple[Callable[[], nn.Module], Callable[..., Tensor], tuple[Tensor, ...]]] = {
    "batch norm": (lambda: nn.Sequential(nn.BatchNorm2d(8), nn.BatchNorm2d(8)), nn.Module.__call__, (IMAGES,)),
    "dropout": (lambda: nn.Dropout(0.1), nn.Module.__call__, (IMAGES,)),
    "linear across memory": (lambda: nn.Linear(10, 7), lambda m, x: m(x.transpose(1, 2)), (WORDS,)),
    "a weight's transpose": (lambda: nn.Linear(10, 7), lambda m, x: x.transpose(1, 2) @ m.weight.T, (WORDS,)),
    "bilinear": (lambda: nn.Bilinear(16, 16, 3), lambda m, x: m(x, x), (WORDS,)),
    **{
        f"bags, {mode}": (
            lambda mode=mode: nn.EmbeddingBag(20, 8, mode=mode),
            nn.Module.__call__,
            (torch.zeros(4, 6, dtype=torch.int64),),
        )
        for mode in ("sum", "mean", "max")
    },
    "bags with offsets": (
        lambda: nn.EmbeddingBag(20, 8, mode="sum", include_last_offset=True, padding_idx=1),
        nn.Module.__call__,
        (torch.zeros(24, dtype=torch.int64), torch.tensor([0, 3, 9, 24])),
    ),
    "attention of a module": (
        lambda: nn.MultiheadAttention(16, 4, **BATCH_FIRST),
        lambda m, x: m(x, x, x)[0],
        (WORDS,),
    ),
    "attention of a module without its weights": (
        lambda: nn.MultiheadAttention(16, 4, **BATCH_FIRST),
        lambda m, x: m(x, x, x, need_weights=False)[0],
        (WORDS,),
    ),
    "attention of a module, sequence first": (
        lambda: nn.MultiheadAttention(16, 4),
        lambda m, x: m(x, x, x)[0],
        (WORDS,),
    ),
    "attention of a module to others": (
        lambda: nn.MultiheadAttention(16, 4, **BATCH_FIRST),
        lambda m, x: m(x, x + 1, x)[0],
        (WORDS,),
    ),
    "attention of a module with both masks": (
        lambda: nn.MultiheadAttention(16, 4, **BATCH_FIRST),
        lambda m, x, mask, padding: m(x, x, x, attn_mask=mask, key_padding_mask=padding)[0],
        (WORDS, MASK, PADDING),
    ),
    "attention of a module with numbers as mask": (
        lambda: nn.MultiheadAttention(16, 4, **BATCH_FIRST),
        lambda m, x, mask: m(x, x, x, attn_mask=mask)[0],
        (WORDS, MASK.float()),
    ),
    "encoder layer": (lambda: nn.TransformerEncoderLayer(16, 4, 64, **BATCH_FIRST), nn.Module.__call__, (WORDS,)),
    "encoder layer with masks": (
        lambda: nn.TransformerEncoderLayer(16, 4, 64, activation="gelu", norm_first=True, **BATCH_FIRST),
        nn.Module.__call__,
        (WORDS, MASK, PADDING),
    ),
    "encoder layer, another function": (
        lambda: nn.TransformerEncoderLayer(16, 4, 64, activation=functional.silu, **BATCH_FIRST),
        nn.Module.__call__,
        (WORDS,),
    ),
    "encoder and decoder": (lambda: nn.Transformer(16, 4, 2, 2, 64, **BATCH_FIRST), lambda m, x: m(x, x), (WORDS,)),
}


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, train: bool) -> None:
    make, call, given = LAYERS[name]
    model = Calls(call, make()).train(train)
    assert eager(model, *given) == held(model, *given)


RECURRENT: dict[str, Callable[..., nn.Module]] = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
FORMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no biases": {"bias": False, "batch_first": True},
    "both ways": {"bidirectional": True},
    "deep": {"num_layers": 2, "bidirectional": True, "dropout": 0.1, "batch_first": True},
}


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", RECURRENT)
def test_recurrent(kind: str, form: str, train: bool) -> None:
    model = Calls(first, RECURRENT[kind](16, 32, **FORMS[form])).train(train)
    assert eager(model, WORDS) == held(model, WORDS)


@pytest.mark.parametrize("form", FORMS)
def test_projections(form: str) -> None:
    model = Calls(first, nn.LSTM(16, 32, proj_size=8, **FORMS[form])).eval()
    assert eager(model, WORDS) == held(model, WORDS)


def test_a_product_chooses_its_way_by_what_learns() -> None:
    """The tracker cannot watch frozen parameters.  With one that learns, a copy makes one product of many; without, none."""
    model = Calls(lambda m, x: m(x.transpose(1, 2)), nn.Linear(10, 7))
    product = 4 * 16 * 7 * 4
    assert eager(model, WORDS) == held(model, WORDS) == 2 * WORDS.nbytes + product
    assert eager(model.requires_grad_(False), WORDS) == WORDS.nbytes + 2 * product


def test_what_is_kept_counts() -> None:
    class Keeps(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            self.kept = x * 2
            one = x + 1
            two = one + 1
            del one
            return two.relu()

    assert eager(Keeps(), IMAGES) == held(Keeps(), IMAGES) == 4 * IMAGES.nbytes


def test_branches_on_values_run_on_a_copy_that_has_them() -> None:
    model = Calls(lambda x: (x * 2).relu() if x.sum() >= 0 else x)
    report = weigh(model, inputs=IMAGES)
    assert report.network.capture is not None
    assert report.network.capture.startswith("ran once")
    assert report.memory.peak_bytes["eager"] == held(model, IMAGES)


def test_not_known_is_said() -> None:
    layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 64, batch_first=True), 1).eval()
    report = weigh(Calls(lambda m, x: m(x, src_key_padding_mask=PADDING), layers).eval(), inputs=WORDS)
    assert "eager" not in report.memory.peak_bytes
    assert any("how much padding nn.TransformerEncoder leaves out" in note for note in report.notes)


def test_every_node_has_its_figure() -> None:
    model = nn.Sequential(
        nn.Conv2d(8, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(784, 10)
    )
    written = weigh(model.eval(), inputs=IMAGES, as_written=True)
    image, conv, last = IMAGES.nbytes, 4 * 4 * 14 * 14 * 4, 4 * 10 * 4
    profile = dict(zip((node.name for node in written.nodes), written.memory.profile["eager"], strict=True))
    assert profile == {
        "0": image + conv,
        "1": image + 2 * conv,
        "2": image + conv,
        "3": image + conv,
        "4": image + conv + last,
    }
    assert written.memory.peak_node["eager"] == "1"
    deployed = weigh(model, inputs=IMAGES)
    assert deployed.memory.profile["eager"][0] == image + 2 * conv
    assert deployed.memory.peak_bytes["eager"] == written.memory.peak_bytes["eager"]


def test_the_record_survives_as_text() -> None:
    graph = load_torch(nn.Sequential(nn.Linear(16, 16), nn.ReLU()), (WORDS,))
    assert graph.allocations
    assert graph_from_json(graph_to_json(graph)) == graph
