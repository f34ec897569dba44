"""Models by name: what is built, with which inputs, from what, and what is refused."""

from __future__ import annotations

import csv
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import weighbridge
from weighbridge import BadSpec, NeedsShape, WeighbridgeError
from weighbridge.frontends.torch_sources import load_named, offline


def shapes(source: str, **sizes: Any) -> dict[str, Any]:
    graph = weighbridge.load(source, **sizes)
    return {name: graph.tensors[name].shape for name in graph.inputs}


# torchvision

PUBLISHED = {
    "torchvision:resnet18": "ResNet18_Weights.IMAGENET1K_V1",
    "torchvision:efficientnet_b3": "EfficientNet_B3_Weights.IMAGENET1K_V1",
    "torchvision:vit_b_16": "ViT_B_16_Weights.IMAGENET1K_V1",
    "torchvision:vit_b_16:image_size=384": "ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1",
    "torchvision:regnet_y_400mf": "RegNet_Y_400MF_Weights.IMAGENET1K_V1",  # cannot be built on the meta device
    "torchvision:r3d_18": "R3D_18_Weights.KINETICS400_V1",
}


@pytest.mark.parametrize("source", PUBLISHED)
def test_torchvision_s_own_inputs_give_torchvision_s_own_figures(source: str, shared: Path) -> None:
    with (shared / "facts" / "torchvision.csv").open(encoding="utf-8") as file:
        (row,) = [row for row in csv.DictReader(file) if row["weights"] == PUBLISHED[source]]
    report = weighbridge.weigh(
        source, as_written=True
    )  # a device computes Swin's position biases once, not at each run
    assert report.facts.exact
    assert report.facts.parameters == int(row["parameters"])
    assert round(report.facts.macs / 1e9, 3) == float(row["gmacs"])
    assert (report.network.format, report.network.source) == ("torch", source)
    assert report.network.name == source.split(":")[1]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("torchvision:resnet18", [(1, 3, 224, 224)]),
        ("torchvision:lraspp_mobilenet_v3_large", [(1, 3, 520, 520)]),
        ("torchvision:mc3_18", [(1, 3, 16, 112, 112)]),
        ("torchvision:s3d", [(1, 3, 16, 224, 224)]),
        ("torchvision:raft_small", [(1, 3, 520, 960)] * 2),
        ("torchvision:quantized_mobilenet_v2", [(1, 3, 224, 224)]),
    ],
)
def test_every_family_has_its_inputs(source: str, expected: list[tuple[int, ...]]) -> None:
    assert list(shapes(source).values()) == expected


def test_parameters_stand_behind_the_name() -> None:
    smaller = weighbridge.weigh("torchvision:resnet18:num_classes=10,zero_init_residual=true")
    whole = weighbridge.weigh("torchvision:resnet18")
    assert whole.facts.parameters - smaller.facts.parameters == 990 * 513


def test_batch_and_inputs() -> None:
    one, four = (weighbridge.weigh("torchvision:squeezenet1_1", batch=batch) for batch in (None, 4))
    assert four.facts.macs == 4 * one.facts.macs
    assert shapes("torchvision:squeezenet1_1", inputs=(2, 3, 64, 64)) == {"x": (2, 3, 64, 64)}
    assert shapes("torchvision:squeezenet1_1", kwargs={"x": (2, 3, 64, 64)}) == {"x": (2, 3, 64, 64)}
    assert shapes("torchvision:squeezenet1_1", inputs=torch.zeros(2, 3, 64, 64)) == {"x": (2, 3, 64, 64)}


def test_building_draws_no_random_numbers() -> None:
    before = torch.get_rng_state()
    weighbridge.load("torchvision:regnet_x_400mf")
    assert torch.equal(torch.get_rng_state(), before)


# timm


def test_timm_and_torchvision_agree() -> None:
    pytest.importorskip("timm")
    ours, theirs = weighbridge.weigh("timm:resnet18"), weighbridge.weigh("torchvision:resnet18")
    assert (ours.facts.macs, ours.facts.parameters) == (theirs.facts.macs, theirs.facts.parameters)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("timm:vit_tiny_patch16_224", (1, 3, 224, 224)),
        ("timm:vit_tiny_patch16_384", (1, 3, 384, 384)),
        ("timm:efficientnet_b3", (1, 3, 288, 288)),
        ("timm:vit_tiny_patch16_224:img_size=96,in_chans=1", (1, 1, 96, 96)),
    ],
)
def test_timm_states_the_size(source: str, expected: tuple[int, ...]) -> None:
    pytest.importorskip("timm")
    assert shapes(source) == {"x": expected}


# transformers


def config(folder: Path, **fields: Any) -> str:
    (folder / "config.json").write_text(json.dumps(fields))
    return f"transformers:{folder / 'config.json'}"


SMALL = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
LLAMA: dict[str, Any] = {"model_type": "llama", "num_key_value_heads": 2, "vocab_size": 100, **SMALL}


def test_a_llama_by_hand(tmp_path: Path) -> None:
    """Products of the projections, of the attention and of the gated layers, and of the head."""
    pytest.importorskip("transformers")
    source = config(tmp_path, architectures=["LlamaForCausalLM"], torch_dtype="bfloat16", **LLAMA)
    report = weighbridge.weigh(source, batch=3, sequence=32)
    tokens, hidden, key_values, inner = 3 * 32, 64, 2 * 16, 96
    layer = hidden * (2 * hidden + 2 * key_values) + 3 * hidden * inner + 2 * 32 * hidden
    assert report.facts.macs == tokens * (2 * layer + hidden * 100)
    assert report.facts.parameter_bytes == 2 * report.facts.parameters
    assert report.network.name == "LlamaForCausalLM"
    assert report.facts.exact


def test_a_folder_is_its_config(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    source = config(tmp_path, **LLAMA)
    assert weighbridge.load(f"transformers:{tmp_path}", sequence=8) == weighbridge.load(source, sequence=8)


@pytest.mark.parametrize(
    ("fields", "sizes", "expected"),
    [
        ({"model_type": "bert", **SMALL}, {"sequence": 16}, {"input_ids": (1, 16)}),
        ({"model_type": "vit", "image_size": 64, **SMALL}, {"batch": 2}, {"pixel_values": (2, 3, 64, 64)}),
        (
            {"model_type": "t5", "d_model": 64, "d_ff": 96, "num_layers": 1, "num_heads": 4},
            {"sequence": 16},
            {"input_ids": (1, 16), "decoder_input_ids": (1, 16)},
        ),
        (
            {
                "model_type": "whisper",
                "d_model": 64,
                "encoder_layers": 1,
                "encoder_attention_heads": 4,
                "decoder_layers": 1,
                "decoder_attention_heads": 4,
                "max_source_positions": 50,
            },
            {"sequence": 16},
            {"input_features": (1, 80, 100), "decoder_input_ids": (1, 16)},
        ),
        (
            {"model_type": "clip", "text_config": SMALL, "vision_config": SMALL},
            {"sequence": 16},
            {"input_ids": (1, 16), "pixel_values": (1, 3, 224, 224)},
        ),
        ({"model_type": "wav2vec2", **SMALL}, {"sequence": 4000}, {"input_values": (1, 4000)}),
    ],
    ids=lambda value: value.get("model_type", "") if isinstance(value, dict) else "",
)
def test_the_main_input_of_a_config(
    fields: dict[str, Any], sizes: dict[str, int], expected: dict[str, Any], tmp_path: Path
) -> None:
    pytest.importorskip("transformers")
    assert shapes(config(tmp_path, **fields), **sizes) == expected


class Rows(nn.Module):
    """Its forward reads the number of rows from a buffer: neither the meta device nor zeros will do."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.tensor(4))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return image.reshape(int(self.rows), -1)


def test_what_a_forward_cannot_do_without_values_is_built_with_some(monkeypatch: pytest.MonkeyPatch) -> None:
    timm = pytest.importorskip("timm")
    monkeypatch.setattr(timm, "is_model", lambda name: name == "rows")
    monkeypatch.setattr(timm, "create_model", lambda name, **choices: Rows())
    graph = weighbridge.load("timm:rows")
    assert graph.capture.startswith("ran once with values")
    assert [graph.tensors[tensor].shape for tensor in graph.outputs] == [(4, 3 * 224 * 224 // 4)]


def test_what_a_library_logs_is_no_answer(tmp_path: Path) -> None:
    """Weighed in a process of its own, as libraries say such things once, when they are imported."""
    pytest.importorskip("transformers")
    source = config(tmp_path, architectures=["os.system"], model_type="llama")
    run = subprocess.run(
        [sys.executable, "-m", "weighbridge", "weigh", source, "--sequence", "8"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert "has no architecture 'os.system'" in run.stderr


def test_a_length_that_nobody_gave_is_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(NeedsShape, match=r"number of tokens is not given; --sequence 128"):
        weighbridge.load(config(tmp_path, **LLAMA))


def test_inputs_of_a_kind_that_no_config_states_are_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(NeedsShape, match="input_features"):
        weighbridge.load(config(tmp_path, model_type="wav2vec2-bert", **SMALL))


def test_a_quantisation_that_is_not_applied_is_said(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    source = config(tmp_path, quantization_config={"quant_method": "gptq", "bits": 4}, **LLAMA)
    assert any("quantization_config" in note for note in weighbridge.weigh(source, sequence=8).notes)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"model_type": "lama"}, ("no model_type 'lama'", "did you mean llama?")),
        ({}, ("the config has no model_type",)),
        ({"model_type": "mine", "auto_map": {"AutoConfig": "x.Y"}}, ("'mine'", "never run")),
        ({**LLAMA, "architectures": ["LamaForCausalLM"]}, ("LamaForCausalLM", "did you mean LlamaForCausalLM?")),
        ({**LLAMA, "architectures": ["logging"]}, ("no architecture 'logging'",)),
        ({**LLAMA, "num_labels": 10**12}, ("num_labels is 1,000,000,000,000", "not built")),
        ({**LLAMA, "text_config": {"depths": [2, 10**9]}}, ("depths is 1,000,000,000", "not built")),
        ({"model_type": "llama", "hidden_size": "many"}, ("llama does not take this config", "hidden_size")),
        ({"model_type": "whisper", "d_model": 64, "encoder_attention_heads": 6}, ("cannot be built", "ValueError")),
    ],
    ids=str,
)
def test_a_config_that_is_none(fields: dict[str, Any], words: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(BadSpec) as caught:
        weighbridge.load(config(tmp_path, **fields), sequence=8)
    assert all(word in str(caught.value) for word in words)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"model_type": "llama",', ("no JSON", "line 1")),
        (b"[1]", ("a config is an object",)),
        (b"\xff\xfe\x00", ("no JSON",)),
        (b"[" * 200_000, ("nested too deeply",)),
        (None, ("cannot be read", "nothing is downloaded")),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_file_that_is_no_config(content: bytes | None, words: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadSpec) as caught:
        weighbridge.load(f"transformers:{path}", sequence=8)
    assert all(word in str(caught.value) for word in words)


# What is never done


def test_nothing_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a config names: a library that asks for a host is told that there is none."""
    pytest.importorskip("transformers")
    pytest.importorskip("timm")
    asked: list[object] = []

    def resolve(*arguments: object, **_: object) -> None:
        asked.append(arguments)
        raise OSError("no network in tests")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    hub = {"model_type": "timm_backbone", "architectures": ["TimmBackbone"], "backbone": "hf-hub:timm/resnet18"}
    kernels = {**LLAMA, "attn_implementation": "kernels-community/flash-attn"}
    with pytest.raises(WeighbridgeError):
        weighbridge.load(config(tmp_path, **hub))
    assert weighbridge.load(config(tmp_path, **kernels), sequence=8).nodes
    assert asked == []
    assert socket.getaddrinfo is resolve


def test_the_network_is_closed_to_this_thread_alone_and_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from concurrent.futures import ThreadPoolExecutor

    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: "reached")
    with ThreadPoolExecutor(1) as other, offline():
        with pytest.raises(OSError, match="without a network"):
            socket.getaddrinfo("example.org", 443)
        assert other.submit(socket.getaddrinfo, "example.org", 443).result() == "reached"
    assert socket.getaddrinfo("example.org", 443) == "reached"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("torchvision:resnet49", ("no model 'resnet49'", "torchvision:resnet50")),
        ("torchvision:", ("no model ''",)),
        ("torchvision:resnet18:weights=DEFAULT", ("weights would load weights",)),
        ("torchvision:resnet18:nothing=3", ("cannot be built", "nothing", "check the parameters")),
        ("torchvision:resnet18:num_classes", ("'num_classes' is no choice",)),
        ("timm:resnet_eighteen", ("timm has no model",)),
        ("timm:hf-hub:timm/resnet18", ("timm/resnet18",)),
        ("timm:resnet18:pretrained=true", ("pretrained would load weights",)),
        ("timm:resnet18:checkpoint_path=/tmp/x", ("checkpoint_path would load weights",)),
    ],
)
def test_a_name_that_is_none(source: str, words: tuple[str, ...]) -> None:
    with pytest.raises(BadSpec) as caught:
        weighbridge.load(source)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"sequence": 8}, "has no sequence"),
        ({"dims": {"n": 8}}, "no named dimensions"),
        ({"batch": 8, "inputs": (1, 3, 224, 224)}, "have their sizes already"),
        ({"batch": 1.5}, "batch: must be a whole number"),
    ],
)
def test_sizes_that_such_a_model_does_not_have(sizes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadSpec, match=words):
        weighbridge.load("torchvision:resnet18", **sizes)


def test_the_stages_are_told() -> None:
    told: list[str] = []
    load_named("torchvision:resnet18", None, batch=None, sequence=None, tell=told.append)
    assert told == ["building torchvision:resnet18", "following the forward of resnet18"]
