"""`analytiq prompt …`: its commands and their options."""

from pathlib import Path
from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences, note
from analytiq.cli.options import DataDir

app = typer.Typer(help="Prompts, their runs and results.", no_args_is_help=True)

PromptName = Annotated[str, typer.Argument(metavar="NAME-OR-ID")]
OfVersion = Annotated[int | None, typer.Option("--version", min=1, help="The latest, if left out.")]


@app.command("list")
def prompt_list(data_dir: DataDir = None) -> None:
    """List prompts."""
    from analytiq.cli import prompts
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        prompts.print_table(client)


@app.command("create")
def prompt_create(
    *,
    name: Annotated[str, typer.Argument()],
    text: Annotated[str | None, typer.Option(help="The task.")] = None,
    file: Annotated[Path | None, typer.Option(help="A file with the task, instead of --text.")] = None,
    schema: Annotated[Path | None, typer.Option(help="A file with a JSON schema that answers follow.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Run by itself on documents with any of these; made if missing.")
    ] = None,
    kb: Annotated[str | None, typer.Option(help="What the model may search: a knowledge base's name or id.")] = None,
    model: Annotated[str | None, typer.Option(help="Chat model; the organization's default, if left out.")] = None,
    max_iterations: Annotated[int, typer.Option(min=1, max=20, help="Rounds of the model.")] = 5,
    token_budget: Annotated[int | None, typer.Option(min=100, help="Tokens of a run.")] = None,
    spu_budget: Annotated[int | None, typer.Option(min=0, help="SPUs of a run.")] = None,
    runs_on_existing: Annotated[
        bool, typer.Option("--existing/--only-new", help="Run on documents that are there already, too.")
    ] = True,
    data_dir: DataDir = None,
) -> None:
    """Make a prompt, or a further version of the one with this name; prints its id."""
    from analytiq.cli import knowledge_bases, prompts
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        wanted = prompts.Wanted(
            text=prompts.task_of(text, file),
            answer_schema=prompts.schema_of(schema),
            tag_ids=[client.ensure_tag(each).tag_id for each in dict.fromkeys(tag or [])],
            kb_id=knowledge_bases.choose(client, kb).kb_id if kb is not None else None,
            model=model,
            settings={"max_iterations": max_iterations, "token_budget": token_budget, "spu_budget": spu_budget},
        )
        typer.echo(prompts.put(client, name, wanted, runs_on_existing=runs_on_existing).prompt_id)


@app.command("run")
def prompt_run(
    *,
    name: PromptName,
    document: Annotated[list[str] | None, typer.Option(help="Its id or name. May be repeated.")] = None,
    tag: Annotated[str | None, typer.Option(help="On all documents with this tag.")] = None,
    text: Annotated[str | None, typer.Option(help="On a text, instead of documents.")] = None,
    version: OfVersion = None,
    wait: Annotated[bool, typer.Option(help="Wait for the answers, and print them.")] = True,
    data_dir: DataDir = None,
) -> None:
    """Run a prompt on documents or on a text. Exit code 1 if any run fails."""
    from analytiq.cli import prompts
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        chosen = prompts.choose(client, name)
        document_ids = prompts.documents_of(client, document or [], tag)
        is_well = prompts.run(client, chosen, document_ids=document_ids, text=text, version=version, waits=wait)
    raise typer.Exit(0 if is_well else 1)


@app.command("runs")
def prompt_runs(
    *,
    name: Annotated[str | None, typer.Argument(metavar="NAME-OR-ID")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many to show at most.")] = 20,
    data_dir: DataDir = None,
) -> None:
    """List runs, latest first."""
    from analytiq.cli import prompts
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        prompts.print_runs(client, prompts.choose(client, name) if name is not None else None, limit)


@app.command("show")
def prompt_show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="As `prompt runs` shows it.")], data_dir: DataDir = None
) -> None:
    """Show a run step by step: what the model said, what it searched for, and the passages that it saw."""
    from analytiq.cli import prompts
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        prompts.print_steps(client, run)


@app.command("cancel")
def prompt_cancel(
    run: Annotated[str, typer.Argument(metavar="RUN", help="As `prompt runs` shows it.")], data_dir: DataDir = None
) -> None:
    """Stop a run."""
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        client.cancel_prompt_run(run)
        note("The run is cancelled; nothing more is asked for it.")


@app.command("results")
def prompt_results(
    *,
    name: PromptName,
    version: OfVersion = None,
    as_json: Annotated[bool, typer.Option("--json", help="As a JSON list instead of CSV.")] = False,
    output: Annotated[Path | None, typer.Option(help="A file to write, instead of the terminal.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Export all results of a version as CSV or JSON."""
    from analytiq.cli import prompts
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        chosen = prompts.choose(client, name)
        prompts.export(client, chosen, is_csv=not as_json, version=version, output=output)


@app.command("delete")
def prompt_delete(
    *, name: PromptName, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    data_dir: DataDir = None,
) -> None:  # fmt: skip
    """Delete a prompt with its versions, runs and results."""
    from analytiq.cli import prompts
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        chosen = prompts.choose(client, name)
        if not yes:
            typer.confirm(f"Delete {chosen.name!r} with its runs and results, verified ones too?", abort=True)
        client.delete_prompt(chosen.prompt_id)
        note(f"{chosen.name!r} is deleted.")


@app.command("models")
def prompt_models(
    *,
    search: Annotated[str | None, typer.Argument(metavar="PART-OF-NAME")] = None,
    data_dir: DataDir = None,
) -> None:
    """List the chat models that can be asked, with what they can do and cost."""
    from analytiq.cli import prompts
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        prompts.print_models(client, search)
