"""The commands and their options.  A command only collects its request; ``execute`` carries it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Final, cast

import typer

from weighbridge import __version__
from weighbridge.cli.complete import complete_device, complete_source
from weighbridge.errors import BadSpec

__all__ = ["app", "execute"]

app = typer.Typer(
    name="weighbridge",
    help="What a neural network costs before it is shipped: exact under a named convention, or it says what it left out.",
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

_INPUT, _COSTS, _OUTPUT, _CHECKS = "The network", "Widths and devices", "Output", "Checks"

_EXAMPLES: Final = """\
[bold]Examples[/bold]

  weighbridge weigh alexnet\n
  weighbridge weigh alexnet:resolution=256 --on stm32f746\n
  weighbridge weigh mobilenet_v2:width=0.75 --precision int8 --on stm32f746 --require-fit\n
  weighbridge weigh model.onnx --batch 1 --sequence 128 --json -\n
  weighbridge weigh alexnet --weight-bits first=8 --weight-bits last=8 --weight-bits rest=4 -o alexnet.md

Exit codes: 0 fine; 1 does not fit, with --require-fit; 2 bad input or usage; 3 not exact, with --strict."""


def execute(arguments: Sequence[str]) -> int:
    """Parse ``arguments``, carry the command out and return its exit code.

    Raises ``BadSpec`` for wrong usage, and whatever error of the tree the command meets.
    """
    try:
        request = app(list(arguments), prog_name="weighbridge", standalone_mode=False)
    except _USAGE_ERRORS as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "weighbridge"
        message = cast(typer.BadParameter, error).format_message().replace("\n", " ").rstrip(".")
        raise BadSpec(message, hint=f"`{command} --help` shows how it is called") from None
    except SystemExit as error:
        if isinstance(error.__context__, OSError):  # help or a completion that nobody reads any more
            raise BrokenPipeError from None
        raise
    return request() if callable(request) else int(request or 0)


# Typer derives its usage errors from a click of its own or of the environment, as its version has it.
_USAGE_ERRORS: tuple[type[Exception], ...] = tuple(
    cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException"
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"weighbridge {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _main(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def devices() -> Callable[[], int]:
    """List the devices of the catalogue, which --on takes."""
    from weighbridge.cli.devices import list_devices

    return list_devices


@app.command(epilog=_EXAMPLES)
def weigh(  # noqa: PLR0913, PLR0917
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            autocompletion=complete_source,
            help="An ONNX file, a network file (TOML), or a textbook network with its parameters: alexnet:resolution=256.",
        ),
    ],
    on: Annotated[
        list[str] | None,
        typer.Option(
            "--on",
            metavar="DEVICE",
            autocompletion=complete_device,
            rich_help_panel=_COSTS,
            help="Give a verdict for this device: a name that `weighbridge devices` lists, or a device file. Repeatable.",
        ),
    ] = None,
    batch: Annotated[
        int | None, typer.Option(metavar="N", min=1, rich_help_panel=_INPUT, help="Size of the batch dimension.")
    ] = None,
    sequence: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, rich_help_panel=_INPUT, help="Size of the dimensions named like a sequence."),
    ] = None,
    dim: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=N", rich_help_panel=_INPUT, help="Size of one named dimension. Repeatable."),
    ] = None,
    input_: Annotated[
        list[str] | None,
        typer.Option(
            "--input", metavar="NAME=1x3x224x224", rich_help_panel=_INPUT, help="Shape of one input. Repeatable."
        ),
    ] = None,
    weight_bits: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[TARGET=]BITS",
            rich_help_panel=_COSTS,
            help="Bits of a weight: 8, or by target: first, last, rest, a layer's name or a pattern such as 'conv*'. Repeatable.",
        ),
    ] = None,
    activation_bits: Annotated[
        int | None, typer.Option(metavar="N", min=1, rich_help_panel=_COSTS, help="Bits of an activation.")
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            rich_help_panel=_COSTS,
            help="Weights, activations and the device's peak rate at one precision: int8, fp16, bf16, fp32 …",
        ),
    ] = None,
    as_written: Annotated[
        bool,
        typer.Option(
            "--as-written", rich_help_panel=_COSTS, help="Fold and fuse nothing: weigh every node of the file."
        ),
    ] = False,
    json: Annotated[
        str | None, typer.Option(metavar="-|FILE", rich_help_panel=_OUTPUT, help="Write the report as JSON.")
    ] = None,
    csv: Annotated[
        str | None, typer.Option(metavar="-|FILE", rich_help_panel=_OUTPUT, help="Write a row for every node as CSV.")
    ] = None,
    markdown: Annotated[
        str | None, typer.Option(metavar="-|FILE", rich_help_panel=_OUTPUT, help="Write the report as Markdown.")
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            rich_help_panel=_OUTPUT,
            help="Write the report to a file, its format by the suffix: .json, .csv, .md, .txt. Repeatable.",
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            rich_help_panel=_OUTPUT,
            help="Levels of the module tree to show; as many as fit 40 rows.",
        ),
    ] = None,
    all_rows: Annotated[
        bool, typer.Option("--all", rich_help_panel=_OUTPUT, help="Show every row of the module tree.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", rich_help_panel=_CHECKS, help="Exit with 3 unless every number is exact.")
    ] = False,
    require_fit: Annotated[
        bool,
        typer.Option("--require-fit", rich_help_panel=_CHECKS, help="Exit with 1 unless it fits every device given."),
    ] = False,
) -> Callable[[], int]:
    """Weigh a network: parameters, model size, MACs, activations, peak memory, and whether a device can take it."""
    from weighbridge.cli.weigh import Request, carry_out

    request = Request(
        source=source,
        on=tuple(on or ()),
        batch=batch,
        sequence=sequence,
        dims=tuple(dim or ()),
        inputs=tuple(input_ or ()),
        weight_bits=tuple(weight_bits or ()),
        activation_bits=activation_bits,
        precision=precision,
        as_written=as_written,
        json=json,
        csv=csv,
        markdown=markdown,
        outputs=tuple(output or ()),
        depth=depth,
        all_rows=all_rows,
        strict=strict,
        require_fit=require_fit,
    )
    return lambda: carry_out(request)
