"""The generated page is the table's, and what costs nothing was looked at by a person."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from weighbridge.operators.record import Kind
from weighbridge.operators.table import OPERATORS

DOCS = Path(__file__).resolve().parents[2] / "docs"

# Reviewed: each of these computes nothing.  A cast changes how a value is written; a lookup, a move or a view only where it
# stands; constants and shapes are known before anything runs; sequences and text hold no arithmetic.
FREE = {
    *("reshape", "flatten", "squeeze", "unsqueeze", "updated", "part"),
    *("identity", "dropout"),
    *("cast", "cast_like", "bit_cast"),
    *("transpose", "concat", "split", "slice", "expand", "tile", "pad", "center_crop_pad"),
    *("roll", "windows", "im2col", "as_strided", "diagonal", "diagonal_embed"),
    *("complex", "real_part", "imaginary_part", "complex_to_real", "real_to_complex"),
    *("unpack", "remove_padding", "restore_padding", "slice_gradient", "broadcast_axes", "yield"),
    *("depth_to_space", "space_to_depth", "reverse_sequence", "trilu", "pack_sequences", "unpack_sequences"),
    *("keyed_embedding", "text_runs", "frames", "frame_stack", "delay"),
    *("embedding", "gather", "gather_elements", "gather_nd", "tensor_scatter", "one_hot", "compress", "max_unpool"),
    *("read_variable", "assign_variable", "slice_at", "gather_slices"),
    *("shape", "size", "rank", "broadcast_shape", "constant_of_shape", "eye_like"),
    *("space_to_batch", "batch_to_space", "dilate", "sparse_to_dense", "slice_update", "set_diagonal"),
    *("hash_table_find", "hash_table_import", "hash_table_size"),
    *("sequence_construct", "sequence_empty", "sequence_at", "sequence_insert", "sequence_erase", "sequence_length"),
    *("split_to_sequence", "concat_from_sequence", "optional", "optional_get_element", "optional_has_element"),
    *("string_normalizer", "string_concat", "string_split", "regex_full_match"),
    *("feature_vector", "dictionary_vector", "map_values", "zip_map"),
    *("text_change", "text_number", "text_equal", "text_join", "text_pieces", "text_split", "vector_text", "tokens"),
}


@pytest.fixture(scope="module")
def generator():
    spec = spec_from_file_location("generate_operators", DOCS / "generate_operators.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(generator):
    shown = (DOCS / "operators.md").read_text(encoding="utf-8")
    assert shown == generator.page(), "run python scripts/refresh_docs.py"


def test_every_operator_has_its_row(generator):
    rows = [line for line in generator.page().splitlines() if line.startswith("| **")]
    assert len(rows) == len(OPERATORS)
    assert set(generator.KINDS) == {value for name, value in vars(Kind).items() if name.isupper()} - {Kind.CONTROL}


def test_the_free_operators_are_the_reviewed_ones():
    assert {op.name for op in OPERATORS.values() if op.is_free} == FREE, (
        "an operator that computes nothing joins FREE above, reviewed"
    )


def test_every_record_says_what_it_is():
    for op in OPERATORS.values():
        assert op.summary, op.name
        assert op.work.__doc__, op.name
        assert (op.loops is None) == (op.kind != Kind.CONTRACTION), op.name
