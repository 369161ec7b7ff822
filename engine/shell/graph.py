"""`podium graph`: a program's flow as a picture."""

import os

import click

from podium.dsl.problem import ProgramError

from .graph_model import drawing
from .graph_text import mermaid, svg
from .inputs import ANYTHING, Asked
from .loading import load
from .options import settings_option
from .reports import reject


@click.command(
    short_help="Draw a program's flow.",
    epilog="Example: podium graph hello.team --svg > hello.svg",
)
@click.argument("file", type=click.Path())
@click.argument("run", required=False)
@click.option("-e", "--expression", help="Draw this expression instead of a run of FILE.")
@settings_option
@click.option("--svg", "as_svg", is_flag=True, help="Write SVG; without it, Mermaid text.")
def command(
    file: str,
    run: str | None,
    expression: str | None,
    settings: tuple[str, ...],
    as_svg: bool,
) -> None:
    """Draw the flow of FILE, or of its run named RUN, on standard output. Nothing is called."""
    asked = Asked(run=run, expression=expression, settings=settings, allow=ANYTHING)
    try:
        program = load(file, asked, os.environ).program
    except ProgramError as error:
        reject(error, as_json=False)
    drawn = drawing(program)
    click.echo(svg(drawn) if as_svg else mermaid(drawn), nl=False)
