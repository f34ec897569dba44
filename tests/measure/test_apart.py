"""The process that a network is measured in: what ends it is said in one line, and nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Timer

import psutil
import pytest

from tests.measure.orders import endless_file, onnx_file, order
from weighbridge.errors import BadSpec, MeasureError, MissingExtra
from weighbridge.measure.apart import Apart

WORKER = [sys.executable, "-P", "-m", "weighbridge.measure.worker"]
ABOUT = (
    '{"said": {"version": "1", "mode": "fake", "inputs": [["x", [1, 2], "float32", "ones"]], "libraries": {},'
    ' "accelerator": ["a card", null, null], "notes": ["so"]}}'
)


def fake(then: str) -> list[str]:
    """A worker that is ready, and does something else when it is asked for more."""
    script = (
        f"import os, signal, sys, time\nsys.stdin.readline()\nprint('''{ABOUT}''', flush=True)\nsys.stdin.readline()\n"
    )
    return [sys.executable, "-c", script + then]


def is_running(number: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    return False


def test_what_the_process_says_of_the_network_is_read() -> None:
    with Apart("fake", order("a.onnx"), command=fake("")) as apart:
        assert apart.about.inputs[0].shape == (1, 2)
        assert apart.about.accelerator is not None
        assert apart.about.accelerator.name == "a card"
        assert apart.about.notes == ("so",)


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "the system ended the run, as it does where memory is used up"),
        ("os.abort()", "the runtime ended its process (signal SIGABRT)"),
        ("print('no memory left\\x1b[2J', file=sys.stderr); os.abort()", r"(signal SIGABRT): no memory left\x1b[2J"),
        ("os._exit(7)", "the runtime ended its process (exit code 7)"),
        ("print('{', end='', flush=True); os._exit(0)", "(exit code 0)"),
    ],
)
def test_a_process_that_ends_is_told(then: str, said: str) -> None:
    with pytest.raises(MeasureError) as caught, Apart("fake", order("a.onnx"), command=fake(then)) as apart:
        apart.samples(1, 1)
    assert said in str(caught.value)
    assert str(caught.value).startswith("a.onnx: ")
    assert "\n" not in str(caught.value)


def test_a_process_that_never_begins_is_told() -> None:
    with pytest.raises(MeasureError, match="exit code 3"):
        Apart("fake", order("a.onnx"), command=[sys.executable, "-c", "raise SystemExit(3)"])


@pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v holds on Linux")
def test_memory_that_is_not_there_is_told(tmp_path: Path) -> None:
    """The process may have 3 GB of addresses, the product takes 16 GB."""
    path = onnx_file(tmp_path / "product.onnx", "rows")
    limited = ["sh", "-c", f"ulimit -v 3000000; exec {' '.join(WORKER)}"]
    shapes = {"x": ((1 << 28, 16), "float32")}
    with pytest.raises(MeasureError) as caught:
        Apart("onnxruntime", order(path, shapes), command=limited)
    assert "memory" in str(caught.value)
    assert "try a smaller batch" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_runtime_that_is_not_installed_names_the_extra(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['onnxruntime'] = None; from weighbridge.measure.worker import main; main()"
    with pytest.raises(MissingExtra, match=r"onnxruntime is not installed.*pip install 'weighbridge\[measure\]'"):
        Apart("onnxruntime", order("a.onnx"), command=[sys.executable, "-c", hidden])


def test_the_threads_are_said_before_anything_is_loaded() -> None:
    """Kernels read the environment once."""
    said = (
        "import os, sys\nraise SystemExit(int(os.environ['OMP_NUM_THREADS']) * 10 + int(os.environ['MKL_NUM_THREADS']))"
    )
    with pytest.raises(MeasureError, match="exit code 33"):
        Apart("fake", order("a")._replace(threads=3), command=[sys.executable, "-c", said])


@pytest.mark.parametrize(("own", "code"), [(None, 10), ("FASTEST_FIRST", 13)])
def test_graphics_processors_are_counted_as_the_bus_does_unless_the_user_says_otherwise(
    own: str | None, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    if own is not None:
        monkeypatch.setenv("CUDA_DEVICE_ORDER", own)
    said = "import os\nraise SystemExit(len(os.environ['CUDA_DEVICE_ORDER']))"
    with pytest.raises(MeasureError, match=f"exit code {code}"):
        Apart("fake", order("a"), command=[sys.executable, "-c", said])


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system holds no process to processors")
def test_a_process_is_held_to_processors() -> None:
    one = min(os.sched_getaffinity(0))
    with Apart("fake", order("a"), [one], command=fake("")) as apart:
        assert os.sched_getaffinity(apart.number) == {one}
    for wrong in ([10_000], [-1], [one, 10_000], [1 << 70]):
        with pytest.raises(BadSpec, match="no process can be held to processors"):
            Apart("fake", order("a"), wrong, command=fake(""))


def test_an_error_ends_the_process_at_once_and_those_that_it_started() -> None:
    """The process waits for a minute, and would outlive the patience of its end."""
    child = "import subprocess; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); time.sleep(60)"
    with pytest.raises(ZeroDivisionError), Apart("fake", order("a"), command=fake(child)) as apart:
        apart._process.stdin.write("{}\n")  # type: ignore[union-attr]
        apart._process.stdin.flush()  # type: ignore[union-attr]
        family = _family(apart.number)
        assert len(family) == 2
        raise ZeroDivisionError
    assert all(_is_gone(one) for one in family)


def _is_gone(number: int) -> bool:
    """Whether a process is, soon: the system takes a moment to end one."""
    for _ in range(200):
        if not is_running(number):
            return True
        time.sleep(0.05)
    return False


def _family(number: int) -> list[int]:
    """The process and the one that it starts, once that is there."""
    for _ in range(600):
        children = psutil.Process(number).children()
        if children:
            return [number, *(one.pid for one in children)]
        time.sleep(0.05)
    return [number]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_it_and_leaves_nothing_running() -> None:
    """The user's interrupt comes while a run goes on."""
    script = (
        "import sys\nfrom tests.measure.test_apart import fake\nfrom tests.measure.orders import order\n"
        "from weighbridge.measure.apart import Apart\n"
        "with Apart('fake', order('a'), command=fake('time.sleep(60)')) as apart:\n"
        "    print(apart.number, flush=True)\n    apart.samples(1, 1)\n"
    )
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    asking = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
    )
    assert asking.stdout is not None
    worker = int(asking.stdout.readline())
    Timer(0.3, asking.send_signal, [signal.SIGINT]).start()
    asking.wait(30)
    asking.stdout.close()
    assert _is_gone(worker)


def test_the_worker_leaves_an_interrupt_to_who_asks(tmp_path: Path) -> None:
    with Apart("onnxruntime", order(onnx_file(tmp_path / "a.onnx"))) as apart:
        os.kill(apart.number, signal.SIGINT)
        assert len(apart.samples(2, 1)) == 2


def test_a_worker_without_a_network_and_one_with_a_fault_answer(tmp_path: Path) -> None:
    worker = subprocess.run(
        WORKER,
        input='{"do": "samples", "count": 1, "runs": 1}\n{"do": "ready", "runtime": "none"}\n',
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = worker.stdout.splitlines()
    assert "nothing is ready to run" in first
    assert "internal error: KeyError" in second


FAKE = (
    "import sys; sys.path.insert(0, {root!r}); from weighbridge.measure import worker;"
    " worker.MODULES = {{'fake': ('tests.measure.fake_runner', 'measure')}}; worker.main()"
)


def test_what_fails_later_is_the_runtimes_and_the_process_goes_on() -> None:
    command = [sys.executable, "-c", FAKE.format(root=str(Path(__file__).resolve().parents[2]))]
    with Apart("fake", order("folder/a.onnx"), command=command) as apart:
        said = r"folder/a\.onnx: there is not enough memory for it in fake: CUDA out of memory\. Tried to allocate 9 GiB; try"
        with pytest.raises(MeasureError, match=said):
            apart.samples(9, 1)
        with pytest.raises(MeasureError, match=r"a\.onnx: its own words"):
            apart.profile(1)
    with pytest.raises(MeasureError, match="there is not enough memory for it; try a smaller batch"):
        Apart("fake", order("a", mode="no memory"), command=command)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="processes of a group are of Unix")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_does_not_outlast_who_asked_for_it(how: signal.Signals, tmp_path: Path) -> None:
    """The command is ended in the middle of a run that never ends, and can tell nobody."""
    path = endless_file(tmp_path / "endless.onnx")
    command = [sys.executable, "-m", "weighbridge", "measure", str(path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as asking:
        worker = psutil.Process(_family(asking.pid)[1])
        while worker.cpu_times().user + worker.cpu_times().system < 1:  # its libraries are loaded, and it runs
            time.sleep(0.05)
        asking.send_signal(how)
        asking.wait()
    assert _is_gone(worker.pid)
