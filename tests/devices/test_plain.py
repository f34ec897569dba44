"""A device as the tables of its file: what is read again is the same device."""

from __future__ import annotations

import pytest
import tomli_w

from weighbridge.devices.catalogue import by_kind, file_of, find, names
from weighbridge.devices.device import KINDS, Device, Figure, Memory
from weighbridge.devices.plain import device_tables
from weighbridge.devices.read import device_of
from weighbridge.errors import BadSpec


@pytest.mark.parametrize("name", names())
def test_the_tables_of_a_device_are_read_as_the_same_device(name: str) -> None:
    assert device_of(tomli_w.dumps(device_tables(find(name))).encode(), name) == find(name)


def test_what_is_as_without_its_key_is_left_out_and_nothing_else_is() -> None:
    memory = Memory("flash", (), Figure(8, "a sheet"), reserved_bytes=Figure(4, "a guess", verified=False, note="why"))
    tables = device_tables(Device("d", "D", "a class", "a core", memories=(memory,)))
    assert tables == {
        "name": "d",
        "title": "D",
        "class": "a class",
        "core": "a core",
        "memories": [
            {
                "name": "flash",
                "holds": [],
                "bytes": {"value": 8, "source": "a sheet"},
                "reserved_bytes": {"value": 4, "source": "a guess", "verified": False, "note": "why"},
            }
        ],
    }


def test_the_catalogue_is_listed_by_kind_and_its_files_are_there_by_name() -> None:
    found = by_kind()
    assert {one.name for one in found} == set(names())
    assert [KINDS.index(one.kind) for one in found] == sorted(KINDS.index(one.kind) for one in found)
    assert all(device_of(file_of(one.name), one.name) == one for one in found)
    with pytest.raises(BadSpec, match="there is no device"):
        file_of("../read")
