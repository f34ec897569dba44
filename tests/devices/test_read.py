"""A device file with faults is answered with all of them, each with its path; a good one is read as it stands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.devices.catalogue import find
from weighbridge.devices.read import read_device, read_energy_table
from weighbridge.errors import BadSpec

GOOD = """
name = "mine"
title = "My board"
class = "microcontroller"
core = "a core"

[[peaks]]
unit = "core"
precision = "int8"
ops_per_s = { value = 2e9, source = "data sheet, page 3", verified = false, note = "typed from memory" }

[[memories]]
name = "RAM"
holds = ["weights", "activations"]
bytes = { value = 1000, source = "data sheet, page 1" }
reserved_bytes = { value = 400, source = "the linker's map" }
"""

FAULTY = """
name = "Bad One"
title = ""
class = 3
colour = "red"
[[peaks]]
unit = "a"
precision = "fp33"
ops_per_s = 12
[[peaks]]
unit = "a"
precision = "int8"
ops_per_s = { value = nan, source = "" }
[[peaks]]
unit = "a"
precision = "int8"
ops_per_s = { value = true, source = "x", verifed = false }
[[memories]]
name = "m"
holds = ["weights"]
bytes = { value = -4, source = "s" }
[[memories]]
name = "m"
holds = ["weights", "gas"]
bytes = { value = 0, source = "s" }
bandwidth_bytes_per_s = { value = 1.5, source = "s" }
"""


BLOCK = "$.memories[0].largest_block_bytes"


def written(folder: Path, text: str) -> Path:
    path = folder / "device.toml"
    path.write_text(text)
    return path


def faults(folder: Path, text: str) -> list[str]:
    with pytest.raises(BadSpec) as caught:
        read_device(written(folder, text))
    return str(caught.value).splitlines()


def test_a_file_is_read_as_it_stands(tmp_path: Path) -> None:
    device = find(str(written(tmp_path, GOOD)))
    peak = device.peak("int8")
    assert peak is not None
    assert (peak.ops_per_s.value, peak.ops_per_s.verified) == (2 * 10**9, False)
    assert isinstance(peak.ops_per_s.value, int)
    assert device.class_ == "microcontroller"
    assert device.memories[0].bytes.verified
    assert device.memories[0].available_bytes == 600
    assert device.memories[0].bandwidth_bytes_per_s is None


MORE = """
[[memories]]
name = "PSRAM"
holds = ["activations", "persistent"]
bytes = { value = 5000, source = "data sheet, page 2" }
largest_block_bytes = { value = 3000, source = "the heap's own report" }
[[memories]]
name = "flash"
holds = ["weights", "code"]
bytes = { value = 9000, source = "data sheet, page 1" }
"""


def test_several_memories_can_hold_the_same(tmp_path: Path) -> None:
    device = find(str(written(tmp_path, GOOD.replace("[[peaks]]", 'kernel_library = "esp-nn"\n[[peaks]]') + MORE)))
    assert device.kernel_library == "esp-nn"
    assert [memory.name for memory in device.memories_for("activations")] == ["RAM", "PSRAM"]
    assert [memory.name for memory in device.memories_for("weights")] == ["RAM", "flash"]
    assert [memory.name for memory in device.memories_for("persistent")] == ["PSRAM"]
    assert [(memory.available_bytes, memory.block_bytes) for memory in device.memories] == [
        (600, 600),
        (5000, 3000),
        (9000, 9000),
    ]
    assert device.is_microcontroller


def test_all_faults_come_at_once_each_with_its_path(tmp_path: Path) -> None:
    summary, *lines = faults(tmp_path, FAULTY)
    assert summary == f"{tmp_path / 'device.toml'}: the device file has 17 faults"
    paths = sorted(line.strip().split(": ")[0] for line in lines)
    assert paths == sorted(
        [
            "$",
            "$.class",
            "$.core",
            "$.memories[0].bytes.value",
            "$.memories[1]",
            "$.memories[1].bandwidth_bytes_per_s.value",
            "$.memories[1].bytes.value",
            "$.memories[1].holds[1]",
            "$.name",
            "$.peaks[0].ops_per_s",
            "$.peaks[0].precision",
            "$.peaks[1].ops_per_s.source",
            "$.peaks[1].ops_per_s.value",
            "$.peaks[2]",
            "$.peaks[2].ops_per_s",
            "$.peaks[2].ops_per_s.value",
            "$.title",
        ]
    )


@pytest.mark.parametrize(
    ("change", "path", "what"),
    [
        (("2e9", "inf"), "$.peaks[0].ops_per_s.value", "above 0"),
        (("2e9", "nan"), "$.peaks[0].ops_per_s.value", "above 0"),
        (("2e9", "-1"), "$.peaks[0].ops_per_s.value", "above 0"),
        (("2e9", "0"), "$.peaks[0].ops_per_s.value", "above 0"),
        (("2e9", "true"), "$.peaks[0].ops_per_s.value", "a number"),
        (("2e9", '"2e9"'), "$.peaks[0].ops_per_s.value", "a number"),
        (("2e9", "9" * 400), "$.peaks[0].ops_per_s.value", "at most"),
        ((", verified = false", ", verified = 0"), "$.peaks[0].ops_per_s.verified", "true or false"),
        ((', source = "data sheet, page 1"', ""), "$.memories[0].bytes.source", "missing"),
        (('name = "RAM"', 'name = "RAM"\nkind = "fast"'), "$.memories[0]", "has no key 'kind'"),
        (('"My board"', '"My \\u001b[31m board"'), "$.title", "printable"),
        (('source = "data sheet, page 1"', 'source = "one\\ntwo"'), "$.memories[0].bytes.source", "printable"),
        (('"My board"', f'"{"x" * 2001}"'), "$.title", "at most 2000"),
        (('core = "a core"', f'core = "a core"\nnotes = {["x"] * 65}'), "$.notes", "at most 64 entries, not 65"),
        (("[[peaks]]", "[peaks]"), "$.peaks", "a list of tables"),
        (('["weights", "activations"]', '"weights"'), "$.memories[0].holds", 'a list such as ["weights"], not'),
        (('"weights", "activations"', '"weights", "weights"'), "$.memories[0]", "holds the weights"),
        (("value = 400", "value = 1001"), "$.memories[0].reserved_bytes", "1,001 B is more than the 1,000 B"),
        (("value = 400", "value = 2e6"), "$.memories[0].reserved_bytes", "2,000,000 B is more than the 1,000 B"),
        (("value = 1000", "value = 3.99e2"), "$.memories[0].reserved_bytes", "400 B is more than the 399 B"),
        (("reserved_bytes = { value = 400", "largest_block_bytes = { value = 0"), f"{BLOCK}.value", "above 0"),
        (("reserved_bytes = { value = 400", "largest_block_bytes = { value = 1001"), BLOCK, "1,001 B is more than the"),
        (
            ('core = "a core"', 'core = "a core"\nkernel_library = "mine"'),
            "$.kernel_library",
            "reference, cmsis-nn, esp-nn",
        ),
    ],
)
def test_one_fault(tmp_path: Path, change: tuple[str, str], path: str, what: str) -> None:
    (line,) = faults(tmp_path, GOOD.replace(*change))
    assert f"the device file has 1 fault: {path}: " in line
    assert what in line


@given(size=st.integers(1, 10**6), reserved=st.integers(1, 10**6), written_as=st.tuples(*[st.sampled_from("def")] * 2))
def test_more_reserved_than_there_is_is_a_fault_however_it_is_written(
    tmp_path_factory: pytest.TempPathFactory, size: int, reserved: int, written_as: tuple[str, str]
) -> None:
    """As a whole number, with an exponent, or with a fraction of zero."""
    pairs = zip((size, reserved), written_as, strict=True)
    sizes = [{"d": str(number), "e": f"{number}e0", "f": f"{number}.0"}[form] for number, form in pairs]
    text = GOOD.replace("1000", "{0}").replace("400", "{1}").replace("{ ", "{{ ").replace(" }", " }}").format(*sizes)
    path = tmp_path_factory.getbasetemp() / "reserved.toml"
    path.write_text(text)
    try:
        device = read_device(path)
    except BadSpec as error:
        assert reserved > size
        assert f"$.memories[0].reserved_bytes: {reserved:,} B is more than the {size:,} B" in str(error)
    else:
        assert device.memories[0].available_bytes == size - reserved


def test_every_entry_of_a_list_of_texts_that_is_at_fault_is_named(tmp_path: Path) -> None:
    notes, holds = 'core = "a core"\nnotes = [1, "fine", ""]', 'holds = ["weights", "gas", 3, "activations"]'
    text = GOOD.replace('core = "a core"', notes).replace('holds = ["weights", "activations"]', holds)
    _, *lines = faults(tmp_path, text)
    assert [line.strip() for line in lines] == [
        "$.memories[0].holds[1]: must be one of weights, activations, persistent, code, not 'gas'",
        "$.memories[0].holds[2]: must be one of weights, activations, persistent, code, not 3",
        "$.notes[0]: must be text, not 1",
        "$.notes[2]: must be text, not ''",
    ]


ENERGY = """
[energy]
process = "a process"
notes = ["of the device"]
"""


@pytest.mark.parametrize("key", ["process", "operations", "accesses", "notes", "name", "title", "level"])
def test_the_keys_that_an_unknown_one_is_told_are_those_that_can_be_there(tmp_path: Path, key: str) -> None:
    """Each key that the message offers is taken, whether a table is a device's or stands in a file of its own."""
    own = written(tmp_path, GOOD + ENERGY + "colour = 1\n")
    of_a_file = tmp_path / "table.toml"
    of_a_file.write_text('name = "mine"\ntitle = "mine"\nprocess = "a process"\ncolour = 1\n')
    for read, path in ((read_device, own), (read_energy_table, of_a_file)):
        with pytest.raises(BadSpec) as caught:
            read(path)
        offered = str(caught.value).split("the keys here are ")[1].split(", ")
        assert "$: has no key 'colour'" in str(caught.value).replace(".energy", "")
        path.write_text(path.read_text().replace("colour = 1\n", f"{key} = 1\n"))
        with pytest.raises(BadSpec) as caught:
            read(path)
        taken = "has no key" not in str(caught.value) and "is the device's own" not in str(caught.value)
        assert (key in offered) == taken or "not TOML" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"name = ", "not TOML"),
        (b"x = " + b"[" * 5000, "not TOML"),
        (b"x = " + b"9" * 5000, "not TOML"),
        (b"#" * (1 << 20) + b"#", "larger than 1 MiB"),
    ],
)
def test_what_is_no_device_file_is_refused_in_one_line(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "device.toml"
    path.write_bytes(content)
    with pytest.raises(BadSpec, match=what) as caught:
        read_device(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path, tmp_path / "nul\0.toml", tmp_path / ("x" * 5000 + ".toml")):
        with pytest.raises(BadSpec, match="cannot be read"):
            find(str(path))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (str(tmp_path / "pipe.toml"), os.devnull):
        with pytest.raises(BadSpec, match="no regular file"):
            find(path)


@given(text=st.text(max_size=60), position=st.integers(0, len(GOOD)))
def test_whatever_is_written_into_a_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, text: str, position: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated.toml"
    path.write_text(GOOD[:position] + text + GOOD[position:], encoding="utf-8", errors="replace")
    try:
        device = read_device(path)
    except BadSpec as error:
        assert all(line.isprintable() for line in str(error).splitlines())
    else:
        assert all(memory.available_bytes >= 0 for memory in device.memories)


@pytest.mark.parametrize(
    "text",
    [
        "[[peaks]]\n" * 100_000,
        "".join(f"k{index} = 1\n" for index in range(80_000)),
        f"notes = [{'1,' * 500_000}]",
        f"[[memories]]\nholds = [{'1,' * 500_000}]",
    ],
    ids=["tables", "keys", "notes", "holds"],
)
def test_a_file_made_to_have_faults_is_answered_briefly(tmp_path: Path, text: str) -> None:
    assert len("\n".join(faults(tmp_path, text))) < 10_000


MEASURED = """
[[measured]]
kernels = "ours 1.0"
precision = "int8"
conditions = "three networks on a bench"
cycles_per_s = { value = 1e8, source = "our firmware" }
least = { value = 0.9, source = "a notebook" }
most = { value = 1.25, source = "a notebook" }
[[measured.efficiencies]]
operators = "convolution"
macs_per_cycle = { value = 0.5, source = "a notebook", verified = false, note = "fitted" }
cycles_per_output = { value = 20, source = "a notebook" }
[measured.power]
least_w = { value = 0.01, source = "a meter" }
mean_w = { value = 0.02, source = "a meter" }
most_w = { value = 0.03, source = "a meter" }
"""


def test_measurements_are_read_as_they_stand(tmp_path: Path) -> None:
    device = read_device(written(tmp_path, GOOD + MEASURED))
    (measured,) = device.measured
    (efficiency,) = measured.efficiencies
    assert (measured.least_macs, measured.most_macs) == (None, None)
    assert (measured.kernels, measured.precision, measured.conditions) == (
        "ours 1.0",
        "int8",
        "three networks on a bench",
    )
    assert [figure.value for figure in measured.figures] == [1e8, 0.9, 1.25, 0.5, 20, 0.02, 0.01, 0.03]
    assert (efficiency.macs_per_cycle.verified, efficiency.macs_per_cycle.note) == (False, "fitted")
    assert measured.efficiency("convolution") is efficiency
    assert measured.efficiency("fully connected") is None
    assert device.figures[-8:] == measured.figures


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            ('"convolution"', '"attention"'),
            "efficiencies[0].operators: must be one of convolution, fully connected, not",
        ),
        (("value = 0.5", "value = 0"), "efficiencies[0].macs_per_cycle.value: must be above 0 and at most 1e24, not 0"),
        (("value = 0.5", "value = 1e-12"), "efficiencies[0].macs_per_cycle.value: must be at least 1e-09, not 1e-12"),
        (('kernels = "ours 1.0"', ""), "kernels: is missing"),
        (("value = 1.25", "value = 0.8"), "most: 0.8 is below least, 0.9"),
        (("value = 0.03", "value = 0.015"), "power.most_w: 0.015 is below mean_w, 0.02"),
        (("mean_w = {", "median_w = {"), "power.mean_w: is missing"),
        (('conditions = "three', 'weather = "three'), "conditions: is missing"),
    ],
)
def test_a_fault_of_a_measurement_has_its_path(tmp_path: Path, change: tuple[str, str], fault: str) -> None:
    assert change[0] in MEASURED
    told = "\n".join(faults(tmp_path, GOOD + MEASURED.replace(*change)))
    assert f"$.measured[0].{fault}" in told


def test_the_networks_that_were_measured_are_told_from_the_smallest_to_the_largest(tmp_path: Path) -> None:
    spans = 'least_macs = {{ value = {}, source = "counted" }}\nmost_macs = {{ value = {}, source = "counted" }}\n[[measured.e'
    measured_text = MEASURED.replace("{", "{{").replace("}", "}}").replace("[[measured.e", spans)
    (measured,) = read_device(written(tmp_path, GOOD + measured_text.format(100, 2000))).measured
    assert [figure.value for figure in measured.figures][-2:] == [100, 2000]
    assert faults(tmp_path, GOOD + measured_text.format(2000, 100))[-1].endswith(
        "most_macs: 100 is below least_macs, 2000"
    )


def test_a_library_or_a_class_of_operators_twice_is_a_fault_and_none_too(tmp_path: Path) -> None:
    entry = MEASURED[MEASURED.index("[[measured.e") : MEASURED.index("[measured.p")]
    assert faults(tmp_path, GOOD + MEASURED + MEASURED.replace("[measured.p", f"{entry}[measured.p"))[1:] == [
        "  $.measured[1]: is of 'ours 1.0' at 'int8', as $.measured[0] does already",
        "  $.measured[1].efficiencies[1]: is of 'convolution', as $.measured[1].efficiencies[0] does already",
    ]
    none = MEASURED.replace(entry, "").replace('precision = "int8"', 'precision = "int8"\nefficiencies = []')
    (line,) = faults(tmp_path, GOOD + none)
    assert line.endswith("$.measured[0].efficiencies: must have an entry at least")
