"""What a compression shows: totals, a row a layer, published figures beside ours, notes; for the terminal, Markdown and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from weighbridge.compression.layer import Amount, LayerSize, Stream
from weighbridge.compression.published import ComparedTotal, Comparison
from weighbridge.compression.record import Compression, Total
from weighbridge.errors import printable
from weighbridge.report.grid import Column, Grid, GridRow, grid_lines
from weighbridge.report.headlines import bytes_headline, count_headline, lower_bound
from weighbridge.report.page import Headline, Quantity, Table
from weighbridge.report.spans import Line, Style, in_ascii, text_of, wrap
from weighbridge.report.terminal import Look, headline_lines
from weighbridge.units import as_number, decimal_bytes, exact, significant

__all__ = ["compression_lines", "compression_markdown", "compression_table", "compression_text"]

_BASES = {"weights": "measured on the weights", "ratios": "from ratios, no weights read"}


def compression_lines(found: Compression, look: Look) -> Iterator[Line]:
    """The page as lines of spans."""
    lines = _lines(found, look)
    return lines if look.unicode else (in_ascii(line) for line in lines)


def compression_text(found: Compression, look: Look) -> str:
    """The page as plain text."""
    return text_of(compression_lines(found, look))


def compression_markdown(found: Compression) -> str:
    """The page as Markdown."""
    from weighbridge.report.markdown import escaped, grid_blocks

    parts = [f"# {escaped(_title(found))}\n", f"{escaped(_subtitle(found))}\n"]
    for grid in (_figures(found), *_grids(found)):
        parts += [*grid_blocks(grid), ""]
    parts += ["## Notes\n", *(f"- {escaped(note)}" for note in found.notes)]
    parts += ["\n## What is counted\n", *(f"- {topic}: {escaped(text)}" for topic, text in found.convention.items())]
    return "\n".join([*parts, f"\n{escaped(found.tool)}"]) + "\n"


def compression_table(found: Compression) -> Table:
    """A row a layer with the raw numbers, under the names of the JSON."""
    rows = tuple(tuple(_raw(value) for value in _values(layer)) for layer in found.layers)
    return Table(_COLUMNS, rows)


_OF_A_LAYER = (
    *("name", "parameter", "dtype", "basis", "elements", "kept", "kept_share", "biases", "fillers", "expected_fillers"),
    *("codebook_entries", "codebook_bits", "bias_bits", "dense_bits", "before_huffman_bits", "bits"),
    *("bits_with_expected_fillers", "bytes", "ratio", "before_huffman_percent", "percent"),
    *("squared_error", "relative_squared_error", "exact"),
)


_STREAMS = ("values", "indices")
_COLUMNS = (*_OF_A_LAYER, *(f"{stream}_{field}" for stream in _STREAMS for field in Stream._fields))


def _values(layer: LayerSize) -> Iterator[object]:
    yield from (getattr(layer, name) for name in _OF_A_LAYER)
    for name in _STREAMS:
        stream = getattr(layer, name)
        yield from (getattr(stream, field, None) for field in Stream._fields)


def _raw(value: object) -> str | int | float | None:
    if isinstance(value, Fraction):
        return as_number(value)
    assert value is None or isinstance(value, (str, int, float))
    return value


def _lines(found: Compression, look: Look) -> Iterator[Line]:
    yield from wrap(_title(found), look.measure, Style.STRONG)
    yield from wrap(_subtitle(found), look.measure, Style.QUIET, hanging=2)
    yield Line()
    yield from headline_lines(tuple(_headlines(found)), look)
    for grid in _grids(found):
        yield Line()
        yield from grid_lines(grid, look.measure)
    yield Line()
    for note in found.notes:
        yield from wrap(f"note: {printable(note, 600)}", look.measure, Style.QUIET, hanging=6)


def _title(found: Compression) -> str:
    return f"{printable(found.source) or 'weights'} compressed"


def _subtitle(found: Compression) -> str:
    plan = f", plan {printable(found.plan)}" if found.plan else ""
    return f"{printable(found.format)}; {_BASES[found.values]}{plan}"


def _headlines(found: Compression) -> Iterator[Headline]:
    total = found.total
    fewer = total.pruned_ratio if total.kept_share < 1 else None
    times = f", {significant(float(fewer))} times fewer" if fewer else ""
    of = f"{_percent(100 * total.kept_share)} of {exact(total.weights)} weights{times}"
    yield Headline("weights kept", Quantity(_amount(total.kept), _amount(total.kept)), of)
    parameters = total.weights + total.biases + total.other_parameters
    yield bytes_headline("dense", total.dense_bytes, f"32 bits for each of {exact(parameters)} parameters")
    before = _of_dense(total.before_huffman_percent, total.before_huffman_ratio, total.exact)
    yield bytes_headline("before Huffman", total.before_huffman_bytes, f"{before}; fixed widths", total.exact)
    if total.entropy_bits is not None:
        entropy = f"{_percent(100 * total.entropy_bits / total.dense_bits)} of dense; no code of single values is below"
        yield bytes_headline("at the entropy", round(total.entropy_bits / 8), entropy)
    after = _of_dense(total.percent, total.ratio, total.exact)
    yield bytes_headline("compressed", total.bytes, f"{after}; {_parts(total)} included", total.exact)
    if total.bytes_with_expected_fillers is not None:
        fillers = (
            f"an estimate: {exact(round(total.expected_fillers or 0))} fillers are expected of independent positions"
        )
        yield bytes_headline("with fillers", total.bytes_with_expected_fillers, fillers)
    if total.other_parameters:
        yield count_headline("other parameters", total.other_parameters, "in no layer; as they are held")


def _of_dense(share: Fraction, ratio: Fraction | None, is_exact: bool) -> str:
    most = "" if is_exact else "at most "
    times = f", {most}{significant(float(ratio))} times smaller" if ratio else ""
    return f"{lower_bound(_percent(share), is_exact)} of dense{times}"


def _parts(total: Total) -> str:
    parts = (("codebooks", total.codebook_bits), ("tables of codes", total.table_bits), ("biases", total.bias_bits))
    return ", ".join(f"{name} {decimal_bytes(-(-bits // 8))}" for name, bits in parts)


def _figures(found: Compression) -> Grid:
    rows = tuple(GridRow((one.label, one.value.full, one.value.short, one.convention)) for one in _headlines(found))
    return Grid("Totals", (Column(""), Column("figure", True), Column("short", True), Column("")), rows)


def _grids(found: Compression) -> Iterator[Grid]:
    yield _layers(found)
    if found.comparisons:
        yield _published(found.comparisons)
    if found.compared_total is not None:
        yield _published_total(found, found.compared_total)


def _layers(found: Compression) -> Grid:
    has_entropy = any(layer.values.entropy_bits is not None for layer in found.layers)
    columns = (
        Column("layer"),
        Column("weights", True),
        Column("kept", True),
        Column("value bits", True, rank=1),
        Column("coded", True, rank=1),
        *([Column("entropy", True, rank=2)] if has_entropy else []),
        Column("index bits", True, rank=1),
        Column("coded", True, rank=1),
        *([Column("entropy", True, rank=2)] if has_entropy else []),
        Column("fillers", True, rank=3),
        Column("bytes", True),
        Column("% fixed", True, rank=1),
        Column("% coded", True),
        *(
            [Column("error", True, rank=4)]
            if any(one.relative_squared_error is not None for one in found.layers)
            else []
        ),
    )
    has_error = columns[-1].title == "error"
    rows = tuple(GridRow(tuple(_cells(layer, has_entropy, has_error))) for layer in found.layers)
    notes = [
        "bits are those of one stored value or index, fixed, then on average in its Huffman code; % of the dense layer"
    ]
    if has_entropy:
        notes.append("entropy: the bound of any such code, in bits")
    if has_error:
        notes.append("error: squared error of the codebook over the sum of squares")
    return Grid("layers", columns, rows, tuple(notes))


def _cells(layer: LayerSize, has_entropy: bool, has_error: bool) -> Iterator[str]:
    yield printable(layer.name, 80)
    yield exact(layer.elements)
    yield _percent(100 * layer.kept_share)
    for stream in (layer.values, layer.indices):
        yield "" if stream is None else significant(float(stream.width_bits)).rstrip("0").rstrip(".")
        yield _bits(None if stream is None else stream.huffman_bits_each)
        if has_entropy:
            yield _bits(None if stream is None else stream.entropy_bits_each)
    yield "?" if layer.fillers is None else _amount(layer.fillers)
    yield lower_bound(exact(layer.bytes), layer.exact)
    yield _two(layer.before_huffman_percent)
    yield _two(layer.percent)
    if has_error:
        yield "" if layer.relative_squared_error is None else significant(layer.relative_squared_error)


def _published(comparisons: Sequence[Comparison]) -> Grid:
    columns = (
        Column("layer"),
        Column("stage"),
        Column("published %", True),
        Column("ours %", True),
        Column("difference", True),
        Column("ours, as rounded", rank=1),
        Column("explained by"),
        Column("fillers for each kept weight", True, rank=2),
    )
    rows = tuple(
        GridRow(
            (
                printable(one.layer, 80),
                one.stage,
                _two(one.published_percent),
                _two(one.percent),
                f"{float(one.difference):+.2f}",
                f"{_two(one.low_percent)} to {_two(one.high_percent)}",
                one.explained_by,
                _bits(one.implied_fillers if one.explained_by == "fillers" else None),
            )
        )
        for one in comparisons
    )
    notes = (
        "as rounded: ours with everything that is published rounded taken as low and as high as it can be",
        "fillers: with so many of them ours would be the published figure",
    )
    return Grid("published and ours, in % of the dense layer", columns, rows, notes)


def _published_total(found: Compression, compared: ComparedTotal) -> Grid:
    published, total = compared.published, found.total
    ratio = f"{'' if total.exact else '<= '}{significant(float(total.ratio or 0))}"
    rows = [
        ("dense", _mb(published.dense_mb), decimal_bytes(total.dense_bytes), ""),
        ("pruned, times fewer", _plain(published.pruned_ratio), significant(float(total.pruned_ratio or 0)), ""),
        (
            "compressed",
            _mb(published.compressed_mb),
            lower_bound(decimal_bytes(total.bytes), total.exact),
            decimal_bytes(compared.bytes),
        ),
        (
            "% of dense",
            _plain(published.percent),
            lower_bound(_two(total.percent), total.exact),
            _two(compared.percent),
        ),
        ("times smaller", _plain(published.ratio), ratio, significant(float(compared.ratio))),
    ]
    columns = (Column(""), Column("published", True), Column("ours", True), Column("layers added up", True))
    return Grid("the whole", columns, tuple(GridRow(row) for row in rows), tuple(_gap(found, compared)))


def _gap(found: Compression, compared: ComparedTotal) -> Iterator[str]:
    """The difference in numbers."""
    published = compared.published
    yield "layers added up: the published percentages, each of its layer's dense size"
    if compared.implied_fillers:
        with_them = decimal_bytes(compared.bytes_with_implied_fillers)
        yield (
            f"with the {exact(round(compared.implied_fillers))} fillers that its percentages imply where rounding does not "
            f"explain them, ours is {with_them}"
        )
    if published.percent and published.dense_mb:
        product = published.percent * published.dense_mb / 100
        dense = Fraction(found.total.dense_bytes, 10**6)
        yield (
            f"{_plain(published.percent)} % of {_plain(published.dense_mb)} MB are {_two(product)} MB, of the exact "
            f"{_two(dense)} MB {_two(published.percent * dense / 100)} MB"
        )


def _amount(value: Amount) -> str:
    return exact(value) if isinstance(value, int) else f"{float(value):,.2f}"


def _percent(value: Amount | float) -> str:
    return f"{_two(value)} %"


def _two(value: Amount | float) -> str:
    return f"{float(value):.2f}"


def _bits(value: Amount | float | None) -> str:
    return "" if value is None else f"{float(value):.3f}"


def _mb(value: Fraction | None) -> str:
    return "" if value is None else f"{_plain(value)} MB"


def _plain(value: Fraction | None) -> str:
    return "" if value is None else f"{float(value):g}"
