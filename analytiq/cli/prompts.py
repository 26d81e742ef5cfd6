"""`analytiq prompt …`: prompts, their runs and results."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, cast

import typer
from pydantic import JsonValue

from analytiq.cli import knowledge_bases
from analytiq.cli.connection import api_client
from analytiq.cli.console import fail, note, output, print_rows
from analytiq.cli.documents_by_name import ids_of, is_id
from analytiq.cli.options import DataDir
from analytiq.client import Client, Model, Prompt, PromptRun, PromptRunDetail
from analytiq.errors import InvalidInputError, NotFoundError

app = typer.Typer(help="Manage prompts, their runs and results.", no_args_is_help=True)

PromptName = Annotated[str, typer.Argument(metavar="NAME-OR-ID")]
OfVersion = Annotated[int | None, typer.Option("--version", min=1, help="Version. Default: the latest.")]


@app.command("list")
def prompt_list(data_dir: DataDir = None) -> None:
    """List prompts."""
    with api_client(data_dir) as client:
        print_table(client)


@app.command("create")
def prompt_create(
    *,
    name: Annotated[str, typer.Argument()],
    text: Annotated[str | None, typer.Option(help="Text of the task.")] = None,
    file: Annotated[Path | None, typer.Option(help="File with the task, instead of --text.")] = None,
    schema: Annotated[Path | None, typer.Option(help="File with a JSON schema for the answers.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Tag of documents to run on automatically, created if missing. Repeatable.")
    ] = None,
    kb: Annotated[str | None, typer.Option(help="Name or id of the knowledge base that the model may search.")] = None,
    model: Annotated[str | None, typer.Option(help="Chat model. Default: the organization's.")] = None,
    max_iterations: Annotated[int, typer.Option(min=1, max=20, help="Maximum rounds of the model.")] = 5,
    token_budget: Annotated[int | None, typer.Option(min=100, help="Maximum tokens of a run.")] = None,
    spu_budget: Annotated[int | None, typer.Option(min=0, help="Maximum SPUs of a run.")] = None,
    runs_on_existing: Annotated[
        bool, typer.Option("--existing/--only-new", help="Also run on existing documents.")
    ] = True,
    data_dir: DataDir = None,
) -> None:
    """Create a prompt, or a further version of the one with this name; print its id."""
    with api_client(data_dir) as client:
        wanted = Wanted(
            text=task_of(text, file),
            answer_schema=schema_of(schema),
            tag_ids=[client.ensure_tag(each).tag_id for each in dict.fromkeys(tag or [])],
            kb_id=knowledge_bases.choose(client, kb).kb_id if kb is not None else None,
            model=model,
            settings={"max_iterations": max_iterations, "token_budget": token_budget, "spu_budget": spu_budget},
        )
        typer.echo(put(client, name, wanted, runs_on_existing=runs_on_existing).prompt_id)


@app.command("run")
def prompt_run(
    *,
    name: PromptName,
    document: Annotated[list[str] | None, typer.Option(help="Id or name of a document. Repeatable.")] = None,
    tag: Annotated[str | None, typer.Option(help="Run on all documents with this tag.")] = None,
    text: Annotated[str | None, typer.Option(help="Run on a text, instead of documents.")] = None,
    version: OfVersion = None,
    wait: Annotated[bool, typer.Option(help="Wait for the answers, and print them.")] = True,
    data_dir: DataDir = None,
) -> None:
    """Run a prompt on documents or on a text. Exit code 1 if any run fails."""
    with api_client(data_dir) as client:
        chosen = choose(client, name)
        document_ids = documents_of(client, document or [], tag)
        is_well = run(client, chosen, document_ids=document_ids, text=text, version=version, waits=wait)
    raise typer.Exit(0 if is_well else 1)


@app.command("runs")
def prompt_runs(
    *,
    name: Annotated[str | None, typer.Argument(metavar="NAME-OR-ID")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of rows.")] = 20,
    data_dir: DataDir = None,
) -> None:
    """List runs, latest first."""
    with api_client(data_dir) as client:
        print_runs(client, choose(client, name) if name is not None else None, limit)


@app.command("show")
def prompt_show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id from `prompt runs`.")], data_dir: DataDir = None
) -> None:
    """Show a run step by step: the model's words, its searches, and the passages found."""
    with api_client(data_dir) as client:
        print_steps(client, run)


@app.command("cancel")
def prompt_cancel(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id from `prompt runs`.")], data_dir: DataDir = None
) -> None:
    """Cancel a run."""
    with api_client(data_dir) as client:
        client.cancel_prompt_run(run)
        note("The run is cancelled.")


@app.command("results")
def prompt_results(
    *,
    name: PromptName,
    version: OfVersion = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write a JSON list instead of CSV.")] = False,
    output: Annotated[Path | None, typer.Option(help="File to write, instead of the terminal.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Export all results of a version as CSV or JSON."""
    with api_client(data_dir) as client:
        chosen = choose(client, name)
        export(client, chosen, is_csv=not as_json, version=version, output=output)


@app.command("delete")
def prompt_delete(
    *, name: PromptName, yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
    data_dir: DataDir = None,
) -> None:  # fmt: skip
    """Delete a prompt with its versions, runs and results."""
    with api_client(data_dir) as client:
        chosen = choose(client, name)
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
    """List the available chat models with their abilities and prices."""
    with api_client(data_dir) as client:
        print_models(client, search)


MINUTE = "%Y-%m-%d %H:%M UTC"
SHOWN_CHARACTERS = 400
"""Characters shown of a passage or of a model's words between its searches; the API's `--json` has all."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The wanted prompt. `settings`: numbers, None for the default."""

    text: str
    answer_schema: dict[str, JsonValue] | None
    tag_ids: Sequence[str]
    kb_id: str | None
    model: str | None
    settings: Mapping[str, int | None] = field(default_factory=dict[str, "int | None"])


def task_of(text: str | None, file: Path | None) -> str:
    """Return the task, from the option or the file."""
    if (text is None) == (file is None):
        raise InvalidInputError("Give the task by --text, or in a file by --file.")
    return text if text is not None else _read(cast("Path", file))


def schema_of(file: Path | None) -> dict[str, JsonValue] | None:
    """Read the JSON schema in a file."""
    if file is None:
        return None
    try:
        schema: object = json.loads(_read(file))
    except ValueError as error:
        raise InvalidInputError(f"{file} is not JSON: {error}.") from None
    if not isinstance(schema, dict):
        raise InvalidInputError(f"{file} does not contain a JSON object. A schema is one.")
    return cast("dict[str, JsonValue]", schema)


def choose(client: Client, name_or_id: str) -> Prompt:
    """Return the prompt of this name or id."""
    found = _named(client, name_or_id)
    if found is None:
        found = next((item for item in client.prompts() if item.prompt_id == name_or_id), None)
    if found is None:
        raise NotFoundError(f"No prompt has the name or id {name_or_id!r}; `analytiq prompt list` shows them.")
    return found


def put(client: Client, name: str, wanted: Wanted, *, runs_on_existing: bool) -> Prompt:
    """Create the prompt, or a further version of the one with the name."""
    present = _named(client, name)
    settings: dict[str, JsonValue] = {key: value for key, value in wanted.settings.items() if value is not None}
    if present is None:
        made = client.create_prompt(
            name,
            wanted.text,
            answer_schema=wanted.answer_schema,
            tag_ids=wanted.tag_ids,
            kb_id=wanted.kb_id,
            model=wanted.model,
            runs_on_existing=runs_on_existing,
            settings=settings,
        )
        note(f"The prompt {name!r} is created.")
        return made
    changes: dict[str, JsonValue] = {
        **wanted.settings,
        "text": wanted.text,
        "answer_schema": wanted.answer_schema,
        "tag_ids": list(wanted.tag_ids),
        "kb_id": wanted.kb_id,
        "model": wanted.model,
        "runs_on_existing": runs_on_existing,
    }
    changed = client.update_prompt(present.prompt_id, changes)
    is_other = changed.version != present.version
    note(f"The prompt {name!r} now has version {changed.version}." if is_other else "Nothing changed.")
    return changed


def documents_of(client: Client, names_or_ids: Sequence[str], tag: str | None) -> list[str]:
    """Return the ids of the chosen documents."""
    ids: list[str] = []
    for wanted in names_or_ids:
        ids += [wanted] if is_id(wanted) else ids_of(client, wanted)
    if tag is not None:
        found = client.find_tag(tag)
        if found is None:
            raise NotFoundError(f"There is no tag {tag!r}.")
        ids += [item.document_id for item in client.documents(tag_ids=[found.tag_id])]
    return list(dict.fromkeys(ids))


def run(
    client: Client,
    prompt: Prompt,
    *,
    document_ids: Sequence[str],
    text: str | None,
    version: int | None,
    waits: bool,
) -> bool:
    """Request the runs, wait, and print each answer on its own line; return True if all succeeded."""
    runs = client.run_prompt(prompt.prompt_id, document_ids=document_ids, text=text, version=version)
    if not waits:
        for started in runs:
            output.print(started.run_id, markup=False)
        return True
    is_well = True
    for ended in client.wait_for_runs([item.run_id for item in runs]):
        is_well = _print_answer(ended) and is_well
    return is_well


def print_table(client: Client) -> None:
    """Print all prompts."""
    found = list(client.prompts())
    if not found:
        note("There is no prompt yet. Create one with `analytiq prompt create NAME --text …`.")
        return
    print_rows(("id", "name", "version", "model", "changed"), [_row(prompt) for prompt in found])


def print_runs(client: Client, prompt: Prompt | None, limit: int) -> None:
    """Print the latest runs."""
    page = client.prompt_runs(prompt_id=prompt.prompt_id if prompt else None, limit=limit)
    if not page.items:
        note("There is no run yet.")
        return
    print_rows(("run", "status", "document", "tokens", "SPUs", "USD", "asked for"), [_run_row(x) for x in page.items])


def print_steps(client: Client, run_id: str) -> None:
    """Print a run step by step."""
    shown = client.prompt_run(run_id)
    for number, step in enumerate(shown.steps, start=1):
        output.print(f"{number}. {step['kind']}", style="bold", markup=False)
        for call in step["tool_calls"]:
            output.print(f"   {call['name']} {_short(call['arguments'])}", markup=False)
        if step["text"]:
            output.print(f"   {_short(step['text'])}", markup=False)
        for passage in step["passages"]:
            place = f"{passage['source']}, page {passage['first_page']}"
            output.print(f"   [{passage['number']}] {place}: {_short(passage['content'])}", markup=False)
    _print_answer(shown)


def export(client: Client, prompt: Prompt, *, is_csv: bool, version: int | None, output: Path | None) -> None:
    """Write the results to a file, or print them."""
    content = client.export_prompt_results(prompt.prompt_id, is_csv=is_csv, version=version)
    if output is None:
        _print_raw(content.decode())
        return
    output.write_bytes(content)
    note(f"Written to {output}.")


def print_models(client: Client, name_search: str | None) -> None:
    """Print the available chat models."""
    found = list(client.models(kind="chat", name_search=name_search))
    if not found:
        note("No chat model is available. Store a provider's key with `analytiq providers put`.")
        return
    headings = ("model", "tools", "schemas", "window", "USD per million tokens, in / out")
    print_rows(headings, [_model_row(model) for model in found])


def _print_answer(ended: PromptRunDetail) -> bool:
    if not ended.is_over:
        note(f"The run is {ended.status}; there is no answer yet.")
        return False
    for warning in ended.warnings:
        note(f"Note: {warning}.")
    if ended.error is not None:
        about = f" of the document {ended.document_id}" if ended.document_id else ""
        fail(f"The run {ended.run_id}{about} has {ended.status}: {ended.error.detail}")
        return False
    answer = ended.answer if isinstance(ended.answer, str) else json.dumps(ended.answer, ensure_ascii=False)
    _print_raw(f"{answer}\n")
    return True


def _print_raw(text: str) -> None:
    output.out(text, end="", highlight=False)


def _named(client: Client, name: str) -> Prompt | None:
    return next((item for item in client.prompts(name_search=name) if item.name == name), None)


def _row(prompt: Prompt) -> tuple[str, ...]:
    model = prompt.model or "the default"
    return prompt.prompt_id, prompt.name, str(prompt.version), model, f"{prompt.updated_at:{MINUTE}}"


def _run_row(run: PromptRun) -> tuple[str, ...]:
    usage = run.usage
    cost = f"{usage.cost_usd:.4f}" if not usage.unpriced_calls else "not known"
    tokens = f"{usage.prompt_tokens + usage.completion_tokens:,}"
    return run.run_id, run.status, run.document_id or "-", tokens, str(usage.spus), cost, f"{run.created_at:{MINUTE}}"


def _model_row(model: Model) -> tuple[str, ...]:
    prices = (model.input_usd_per_million_tokens, model.output_usd_per_million_tokens)
    cost = " / ".join("?" if price is None else f"{price:g}" for price in prices)
    window = "?" if model.max_input_tokens is None else f"{model.max_input_tokens:,}"
    return model.model, _word(model.supports_tools), _word(model.supports_structured_output), window, cost


def _word(value: bool | None) -> str:  # noqa: FBT001  # a value to be shown, not a choice
    return {True: "yes", False: "no", None: "?"}[value]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[: SHOWN_CHARACTERS - 1]}…"


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{file} cannot be read: {error}.") from None
