"""`analytiq chat`: a conversation with knowledge bases in the terminal."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape
from rich.text import Text

from analytiq.cli import knowledge_bases
from analytiq.cli.connection import api_client
from analytiq.cli.console import fail, note, output
from analytiq.cli.options import DataDir
from analytiq.client import ChatMessage, Client

app = typer.Typer()


@app.command()
def chat(
    *,
    question: Annotated[str | None, typer.Argument(help="A single question. Default: start a conversation.")] = None,
    kb: Annotated[
        list[str] | None,
        typer.Option(help="Name or id of a knowledge base; repeatable. Optional if there is only one."),
    ] = (None),
    thread: Annotated[str | None, typer.Option(help="Id of the thread to continue.")] = None,
    model: Annotated[str | None, typer.Option(help="Chat model. Default: the organization's.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Ask questions that a chat model answers from the documents, with citations."""
    with api_client(data_dir) as client:
        is_well = run_chat(client, question, kbs=kb or [], thread_id=thread, model=model)
    raise typer.Exit(0 if is_well else 1)


PROMPT = "\nyou> "
_ENDINGS = {
    "length": "The answer was cut: it reached the limit of tokens. Ask for the rest, or for a shorter answer.",
    "content_filter": "The provider's content filter withheld the answer or its rest. Ask in other words.",
    "empty": "The model answered nothing. Ask again, or choose another model.",
}


def run_chat(
    client: Client, question: str | None, *, kbs: Sequence[str], thread_id: str | None, model: str | None
) -> bool:
    """Answer one question, or prompt for questions until the input ends; return False if the last answer failed.

    Args:
        client: the organization's client.
        question: the only question; None for a conversation.
        kbs: names or ids of knowledge bases; by default the only one.
        thread_id: the thread to continue; None begins one.
        model: a chat model; None for the organization's default.
    """
    if thread_id is None:
        chosen = [knowledge_bases.choose(client, kb) for kb in kbs] or [knowledge_bases.choose(client, None)]
        thread = client.create_thread([kb.kb_id for kb in chosen], model=model)
        thread_id = thread.thread_id
        note(f"Conversation with {', '.join(kb.name for kb in chosen)}; continue it later with --thread {thread_id}")
    else:
        note(f"Continuing {client.thread(thread_id).title!r}")
    if question is not None:
        return _answered(client, thread_id, question)
    note("Type a question. Ctrl-D ends the conversation, Ctrl-C stops an answer.")
    is_well = True
    while (asked := _asked()) is not None:
        if asked.strip():
            is_well = _answered(client, thread_id, asked)
    return is_well


def _asked() -> str | None:
    try:
        return input(PROMPT if sys.stdin.isatty() else "")
    except (EOFError, KeyboardInterrupt):
        return None


def _answered(client: Client, thread_id: str, question: str) -> bool:
    answer = client.begin_answer(thread_id, question)
    ended: ChatMessage | None = None
    try:
        for event in client.follow_answer(thread_id, answer.message_id):
            if event.name == "tool_call" and event.data["call_id"] != "question":
                note(f"… searching again: {event.data['arguments']}")
            # Not by the console, which repeats its output if interrupted in the middle of a print.
            sys.stdout.write(event.text)
            sys.stdout.flush()
            ended = event.message or ended
    except KeyboardInterrupt:
        ended = client.stop_answer(thread_id, answer.message_id)
        note(" … stopped")
    output.print()
    if ended is None:
        return False
    _print_sources(ended)
    return ended.state != "failed"


def _print_sources(answer: ChatMessage) -> None:
    if answer.error is not None:
        fail(answer.error.detail)
    for citation in answer.citations:
        quote = " ".join(citation.quote.split())
        output.print(
            f"  [bold]{escape(f'[{citation.number}]')}[/] {escape(citation.source)}, page {citation.page}"
            f"   [dim]{escape(quote)}[/]"
        )
        if citation.source_url:
            output.print(Text(f"      {citation.source_url}", style="dim"))
    if answer.ended_by in _ENDINGS:
        note(_ENDINGS[answer.ended_by])
    elif answer.state == "done" and not answer.is_grounded:
        note("This answer cites nothing from the documents.")
