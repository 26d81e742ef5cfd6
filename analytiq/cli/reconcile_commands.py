"""`analytiq reconcile` and `analytiq reports`: their options."""

from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences
from analytiq.cli.options import DataDir, DryRun

Everything = Annotated[
    bool, typer.Option("--everything", help="Of all organizations: for operators, directly in the database.")
]


def reconcile(
    *,
    kb: Annotated[str | None, typer.Option(help="Only this knowledge base: its name or id.")] = None,
    is_full: Annotated[bool, typer.Option("--full", help="Look at every vector, file and text.")] = False,
    is_dry: DryRun = False,
    rebuilds_cache: Annotated[
        bool, typer.Option("--rebuild-cache", help="Put embeddings back into the cache; calls no provider.")
    ] = False,
    is_everything: Everything = False,
    waits: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it has ended.")] = True,
    data_dir: DataDir = None,
) -> None:
    """Look for what is not as it should be, now, and have it mended. Exit code 1 if the run failed."""
    from analytiq.cli import reconcile as runs
    from analytiq.cli import reconcile_everything
    from analytiq.cli.connection import connect_to_api
    from analytiq.errors import InvalidInputError
    from analytiq.settings import read_settings

    if is_everything:
        with errors_as_sentences():
            if kb is not None:
                raise InvalidInputError("--everything is not --kb: leave one of them out.")
            is_well = reconcile_everything.run(
                read_settings(), data_dir, is_full=is_full, is_dry=is_dry, rebuilds_cache=rebuilds_cache, waits=waits
            )
        raise typer.Exit(0 if is_well else 1)
    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        is_well = runs.run(client, kb, is_full=is_full, is_dry=is_dry, rebuilds_cache=rebuilds_cache, waits=waits)
    raise typer.Exit(0 if is_well else 1)


def reports(
    *,
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="Only this one, with all that it names.")] = None,
    is_everything: Everything = False,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many to show at most.")] = 20,
    data_dir: DataDir = None,
) -> None:
    """List the latest runs, and passes that found something; or show one."""
    from analytiq.cli import reconcile as runs
    from analytiq.cli import reconcile_everything
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    if is_everything:
        with errors_as_sentences():
            if run is None:
                reconcile_everything.print_table(read_settings(), data_dir, limit)
            else:
                reconcile_everything.print_one(read_settings(), data_dir, run)
        return
    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        if run is None:
            runs.print_table(client, limit)
        else:
            runs.print_one(client, run)
