"""How fast a machine is: what is multiplied and moved, and what is told where something is missing; the seconds are the machine's."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from weighbridge.errors import MeasureError
from weighbridge.measure.micro import rates
from weighbridge.measure.micro.orders import (
    COPY,
    DOT,
    MAXIMUM,
    bytes_by_name,
    moved_bytes,
    part_values,
    product_by_name,
    windows,
)
from weighbridge.measure.micro.rates import machine_rates, working_sets
from weighbridge.measure.micro.with_numpy import ready


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "_PRODUCT_S", 1e-3)
    monkeypatch.setattr(rates, "_MOVING_S", 1e-3)


def test_the_best_of_all_libraries_by_precision_and_by_working_set() -> None:
    found = machine_rates(libraries=["numpy", "onnxruntime"], sizes=[8, 16], most_bytes=64 * 1024)
    assert [one.precision for one in found.rates] == ["float64", "float32", "float16", "int8"]
    for one in found.rates:
        assert one.ops_per_s > 0
        assert one.how.startswith(("8 x 8 x 8, ", "16 x 16 x 16, "))
    assert [one.working_set_bytes for one in found.bandwidths] == [32 * 1024, 64 * 1024]
    assert set(found.libraries) == {"numpy", "onnxruntime"}
    (note,) = found.notes
    assert note.startswith("bfloat16 is left out: NumPy has no fast product of matrices in bfloat16; ONNX Runtime")


def test_what_is_not_installed_is_told_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rates.LIBRARIES, "nothing", "Nothing")  # type: ignore[index]
    from weighbridge.errors import MissingExtra

    real = rates._products

    def products(library: str, *rest: object) -> object:
        if library == "nothing":
            raise MissingExtra("it is not there")
        return real(library, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(rates, "_products", products)
    heard: list[str] = []
    found = machine_rates(2, progress=heard.append, libraries=["nothing", "numpy"], sizes=[8], most_bytes=1)
    assert [one.precision for one in found.rates] == ["float64", "float32"]
    assert found.notes[0] == "Nothing is not installed: it multiplied nothing"
    assert found.threads == 2
    assert heard[-2:] == ["moving 32,768 bytes"] * 2  # there and back


def test_a_slow_kernel_is_not_asked_for_what_is_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "_LONGEST_S", 0.0)
    found = machine_rates(libraries=["numpy"], sizes=[8, 16], most_bytes=1)
    assert {one.how.split(",")[0] for one in found.rates} == {"8 x 8 x 8"}


def test_working_sets_double_up_to_a_quarter_of_the_memory() -> None:
    kib = 1024
    assert working_sets(1024 * kib) == (32 * kib, 64 * kib, 128 * kib, 256 * kib)
    assert working_sets(2**40)[-1] == 2**30
    assert working_sets(None)[-1] == 2**28
    assert working_sets(1024) == (32 * kib,)


def test_windows_are_nearly_all_of_an_array_and_never_more() -> None:
    for values in (64, 1_000, 8_192, 10**7):
        count, each = windows(values)
        assert count >= 1
        assert (count - 1) * 16 + each == values
        assert each >= 0.87 * values
        assert count * each <= max(values, 2**18)  # no call takes seconds


def test_bytes_are_counted_read_and_written() -> None:
    count, each = windows(1024)
    assert moved_bytes(COPY, 8192, 1) == 2 * 4 * count * each
    assert moved_bytes(DOT, 8192, 1) == 8192
    assert moved_bytes(MAXIMUM, 8192, 1) == 4 * np.prod(windows(2048))
    assert moved_bytes(COPY, 16384, 2) == 2 * moved_bytes(COPY, 8192, 1)


def test_every_thread_has_whole_lines_of_a_cache_and_one_at_least() -> None:
    assert part_values(32 * 1024, 3) % 32 == 0
    assert 0.97 * 32 * 1024 < 3 * 4 * part_values(32 * 1024, 3) <= 32 * 1024
    assert part_values(32 * 1024, 4096) == 32
    assert len(ready(bytes_by_name(DOT, 1024, 16, 1024))._calls) == 16


@pytest.mark.parametrize("how", [COPY, DOT, MAXIMUM])
@pytest.mark.parametrize("threads", [1, 2])
def test_bytes_are_moved_by_every_thread(how: str, threads: int) -> None:
    runner = ready(bytes_by_name(how, 32 * 1024, threads, 64 * 1024))
    assert len(runner._calls) == threads
    assert not threads - 1 or not np.shares_memory(runner._calls[0].args[0], runner._calls[1].args[0])  # type: ignore[attr-defined]
    assert len(runner.samples(3, 2)) == 3
    assert runner.profile(1) is None


def test_a_copy_copies_the_whole_of_its_half() -> None:
    call = ready(bytes_by_name(COPY, 64 * 1024, 1, 128 * 1024))._calls[0]
    written, read = call.args  # type: ignore[attr-defined]
    read[:] = 7
    call()
    assert (written == 7).all()
    assert not np.shares_memory(written, read)


def test_numpy_multiplies_in_no_precision_that_it_has_no_kernel_for() -> None:
    assert len(ready(product_by_name("float32", 8, 1)).samples(2, 1)) == 2
    with pytest.raises(MeasureError, match="no fast product of matrices in float16"):
        ready(product_by_name("float16", 8, 1))
