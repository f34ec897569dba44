"""``weighbridge weigh --reserve``: what is kept of a board's memories, and which are refused."""

from __future__ import annotations

import json

import pytest

from weighbridge.cli.main import main

LENET = ("weigh", "lenet5", "--precision", "int8")


def regions(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, dict[str, object]]:
    assert main([*LENET, *options, "--json"]) == 0
    (on,) = json.loads(capsys.readouterr().out)["on"]
    return {region["name"]: region for region in on["fit"]["regions"]}


def test_bytes_are_kept_of_a_region(capsys: pytest.CaptureFixture[str]) -> None:
    found = regions(capsys, "--on", "stm32f746", "--reserve", "sram=64KiB", "--reserve", "Flash=200kB")
    assert (found["SRAM"]["available_bytes"], found["SRAM"]["reserved_bytes"]) == (327_680 - 65_536, 65_536)
    assert (found["flash"]["available_bytes"], found["flash"]["uncounted"]) == (1_048_576 - 200_000, [])
    assert regions(capsys, "--on", "stm32f746")["flash"]["uncounted"] == ["code"]


def test_a_byte_less_does_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    """LeNet-5 needs 5,880 B of activations."""
    for left, code in ((5_880, 0), (5_879, 1)):
        kept = f"sram={327_680 - left}B"
        assert main([*LENET, "--on", "stm32f746", "--reserve", kept, "--require-fit"]) == code
    assert "short by 1 B of SRAM (the peak is at s2)" in " ".join(capsys.readouterr().out.split())


def test_a_name_can_have_spaces_and_what_has_no_room_moves_on(capsys: pytest.CaptureFixture[str]) -> None:
    found = regions(capsys, "--on", "stm32h747", "--reserve", "axi sram=0.5MB")
    assert found["AXI SRAM"]["available_bytes"] == 24_288
    moved = regions(capsys, "--on", "stm32h747", "--reserve", "AXI-SRAM=512KiB")
    assert moved["DTCM"]["holds"] == ["activations"]
    assert "AXI SRAM" not in moved


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--on", "stm32f746", "--reserve", "dtcm=1"], "no region is called 'dtcm'; the regions are flash, SRAM"),
        (["--on", "stm32f746", "--reserve", "sram"], "'sram' reserves nothing; write NAME=SIZE, as in sram=64KiB"),
        (["--on", "stm32f746", "--reserve", "=64KiB"], "'=64KiB' reserves nothing"),
        (["--on", "stm32f746", "--reserve", "sram="], "'' is no size of 'sram'"),
        (["--on", "stm32f746", "--reserve", "sram=-1"], "'-1' is no size of 'sram'"),
        (["--on", "stm32f746", "--reserve", "sram=64KB"], "'64KB' is no size of 'sram'; give bytes, or a number with"),
        (["--on", "stm32f746", "--reserve", "sram=64 parsecs"], "'64 parsecs' is no size of 'sram'"),
        (["--on", "stm32f746", "--reserve", "sram=1e99"], "B are more than the 327,680 B of SRAM of stm32f746"),
        (["--on", "stm32f746", "--reserve", f"sram={'9' * 5000}"], "is no size of 'sram'"),
        (
            ["--on", "stm32f746", "--reserve", "sram=321KiB"],
            "328,704 B are more than the 327,680 B of SRAM of stm32f746",
        ),
        (["--on", "esp32", "--reserve", "sram=321KiB"], "of esp32 beside the 204,800 B that its file reserves"),
        (["--on", "mcu", "--reserve", "sram=300KiB"], "B are more than the"),
        (
            ["--on", "stm32f746", "--reserve", "sram=1", "--reserve", "SRAM=2"],
            "'SRAM' is there twice; give the sum once",
        ),
        (["--reserve", "sram=1"], "there is no region without a device; name one"),
        (["--on", "stm32f746", "--reserve", "\x1b[31m=1"], "no region is called"),
    ],
)
def test_bad_reservations_are_bad_input(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*LENET, *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("weighbridge: error: --reserve: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert "\x1b" not in captured.err


def test_a_board_shows_all_its_memories_and_its_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "show", "stm32-f746g-disco"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    for words in (
        "flash: 1,048,576 B = 1.000 MiB; holds weights and code",
        "external flash: 16,777,216 B = 16.00 MiB; holds weights",
        "external flash, bandwidth: 36.00 MB/s",
        "kernels of TensorFlow Lite Micro: cmsis-nn",
    ):
        assert words in page
    assert main(["devices", "show", "esp32"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "SRAM, largest block: 163,840 B = 160.0 KiB; a network has to lie in one" in page
