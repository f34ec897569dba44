"""What an address may name is looked up among names: nothing of it becomes a path."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from weighbridge.devices.catalogue import energy_names
from weighbridge.devices.catalogue import names as device_names
from weighbridge.errors import BadSpec
from weighbridge.published import names as published_names
from weighbridge.textbook import names as network_names
from weighbridge.web.jobs import Order, Saved
from weighbridge.web.references import (
    devices_named,
    devices_offered,
    energies_offered,
    energy_named,
    model_of,
    models_offered,
    order_of,
    title_of,
)
from weighbridge.web.shelf import Shelf, opened

ELSEWHERE = ("../../etc/passwd", "/etc/passwd", "..\\x", "a\0b", "toy.toml", "./toy.toml", "~/x", "", " ", "a" * 5000)


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    with opened() as one:
        yield one


def test_a_textbook_network_is_named_with_its_choices(shelf: Shelf) -> None:
    assert order_of("alexnet", shelf) == Order("alexnet")
    assert order_of("alexnet:resolution=256,head=gap", shelf) == Order("alexnet", "", "resolution=256,head=gap")
    assert order_of("alexnet:resolution=256", shelf, "resolution=63").choices == "resolution=63"
    assert title_of(order_of("mobilenet_v2", shelf)) == "MobileNetV2"


def test_an_upload_is_named_by_its_id(shelf: Shelf) -> None:
    kept = shelf.add_model("net.tflite", io.BytesIO(b"x"))
    order = order_of(f"upload:{kept.id}:decode", shelf)
    assert order == Order("net.tflite", str(kept.folder), "decode")
    assert title_of(order) == "net.tflite"
    with pytest.raises(BadSpec, match="not here any more") as caught:
        order_of("upload:0123", shelf)
    assert caught.value.where == "model"


def test_models_of_other_kinds_are_told_by_what_stands_before_them(shelf: Shelf) -> None:
    shelf.save_report("a b", b"{}")
    assert model_of("report:a b", shelf) == Saved("a b", b"{}")
    assert model_of("published:EfficientViT B1 Nano", shelf) == "efficientvit_b1_nano"
    assert model_of("alexnet", shelf) == Order("alexnet")


@pytest.mark.parametrize("scheme", ["", "upload:", "report:", "published:", "alexnet:", "torchvision:", "timm:"])
@pytest.mark.parametrize("name", ELSEWHERE)
def test_no_model_leads_elsewhere(scheme: str, name: str, shelf: Shelf) -> None:
    if f"{scheme}{name}" in ("alexnet:", "alexnet: ", "alexnet:~/x") or (
        scheme == "alexnet:" and name in ELSEWHERE[-3:]
    ):
        return
    if scheme == "alexnet:" and name == "toy.toml":
        assert order_of(f"{scheme}{name}", shelf) == Order("alexnet", "", name)  # words behind the colon, of no file
        return
    with pytest.raises(BadSpec) as caught:
        model_of(f"{scheme}{name}", shelf)
    assert caught.value.where in ("model", "choices")


def test_a_file_beside_the_process_is_no_model(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").write_bytes(b"secret")
    (tmp_path / "mine.toml").write_bytes(b"secret")
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "mine.toml", f"{tmp_path}/mine"):
        with pytest.raises(BadSpec, match="there is no textbook network"):
            model_of(name, shelf)
        with pytest.raises(BadSpec, match="there is no device"):
            devices_named([name], shelf)
        with pytest.raises(BadSpec, match="there is no table of energies"):
            energy_named(name)


def test_devices_are_of_the_catalogue_a_group_or_of_the_folder(shelf: Shelf) -> None:
    from weighbridge.devices import catalogue

    content = (Path(catalogue.__file__).parent / "toy.toml").read_bytes()
    name = shelf.save_device(content)
    assert devices_named(["mcu", "STM32F746", f"own:{name}", "mcu"], shelf) == (
        ("mcu", "STM32F746"),
        ((f"{name}.toml", content),),
    )
    for one in (*ELSEWHERE, *(f"own:{one}" for one in ELSEWHERE), "stm32f74", "own:toy2"):
        with pytest.raises(BadSpec) as caught:
            devices_named([one], shelf)
        assert caught.value.where == "on"


@pytest.mark.parametrize("name", [*ELSEWHERE, "45mn"])
def test_a_table_of_energies_is_one_of_the_package(name: str) -> None:
    assert energy_named("45nm") == "45nm"
    with pytest.raises(BadSpec) as caught:
        energy_named(name)
    assert caught.value.where == "energy"


def test_all_that_there_is_can_be_chosen_and_all_that_can_be_chosen_is_there(shelf: Shelf) -> None:
    shelf.add_model("net.onnx", io.BytesIO(b"x"))
    shelf.save_report("mine", b"{}")
    models = models_offered(shelf, reports=True, published=True)
    assert [one.heading for one in models] == ["Uploaded", "Saved reports", "Textbook networks", "Published networks"]
    values = [value for one in models for value, _ in one.items]
    assert len(values) == 2 + len(network_names()) + len(published_names())
    for value in values:
        assert model_of(value, shelf)
    assert [one.heading for one in models_offered(shelf)] == ["Uploaded", "Textbook networks"]
    devices = [value for one in devices_offered(shelf) for value, _ in one.items]
    assert sorted(devices) == list(device_names())
    assert len({label for one in devices_offered(shelf) for _, label in one.items}) == len(devices)
    assert [name for name, _ in energies_offered()] == list(energy_names())
    labels = [label for one in models for _, label in one.items]
    assert len(labels) == len(set(labels))


def test_a_model_of_a_library_is_for_the_command_line(shelf: Shelf) -> None:
    with pytest.raises(BadSpec, match="built on the command line alone; weighbridge weigh torchvision:resnet50"):
        order_of("torchvision:resnet50", shelf)
