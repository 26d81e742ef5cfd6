"""`analytiq webhook …`: endpoints that receive events, and their deliveries."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from analytiq.cli.connection import api_client
from analytiq.cli.console import fail, note, print_rows
from analytiq.cli.options import DataDir
from analytiq.client import WebhookDelivery

app = typer.Typer(help="Manage webhooks: endpoints that receive events.", no_args_is_help=True)

WebhookId = Annotated[str, typer.Argument(metavar="ID", help="Id from `webhook list`.")]
Types = Annotated[list[str] | None, typer.Option("--event", help="Type of events. Repeatable. Default: all.")]


@app.command("list")
def webhook_list(data_dir: DataDir = None) -> None:
    """List endpoints."""
    with api_client(data_dir) as client:
        rows = [
            (
                each.webhook_id,
                each.url,
                ", ".join(each.event_types) or "all",
                "enabled" if each.is_enabled else f"disabled ({each.disabled_by})",
                str(each.failures),
            )
            for each in client.webhooks()
        ]
        print_rows(("ID", "ADDRESS", "EVENTS", "STATE", "FAILURES"), rows)


@app.command("add")
def webhook_add(
    url: Annotated[str, typer.Argument(help="Address that receives the events.")],
    *,
    event: Types = None,
    description: Annotated[str, typer.Option(help="Note for people.")] = "",
    data_dir: DataDir = None,
) -> None:
    """Make an endpoint. Prints its id and its secret, which is shown once."""
    with api_client(data_dir) as client:
        made = client.create_webhook(url, event_types=event or (), description=description)
        print_rows(("ID", "SECRET"), [(made.webhook_id, made.secret)])


@app.command("update")
def webhook_update(
    webhook_id: WebhookId,
    *,
    url: Annotated[str | None, typer.Option(help="Another address.")] = None,
    event: Types = None,
    description: Annotated[str | None, typer.Option(help="Another note.")] = None,
    enabled: Annotated[bool | None, typer.Option("--enable/--disable", help="Send it events, or none.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Change an endpoint, enable or disable it."""
    with api_client(data_dir) as client:
        client.update_webhook(webhook_id, url=url, event_types=event, description=description, is_enabled=enabled)


@app.command("delete")
def webhook_delete(webhook_id: WebhookId, data_dir: DataDir = None) -> None:
    """Delete an endpoint with its deliveries."""
    with api_client(data_dir) as client:
        client.delete_webhook(webhook_id)


@app.command("rotate")
def webhook_rotate(
    webhook_id: WebhookId,
    *,
    overlap: Annotated[int, typer.Option(min=0, help="Seconds for which the old secret signs as well.")] = 86_400,
    data_dir: DataDir = None,
) -> None:
    """Replace the secret, and print the new one."""
    with api_client(data_dir) as client:
        typer.echo(client.rotate_webhook_secret(webhook_id, overlap_seconds=overlap).secret)


@app.command("test")
def webhook_test(webhook_id: WebhookId, data_dir: DataDir = None) -> None:
    """Send a test event and show the answer. Exit code 1 if it is no success."""
    with api_client(data_dir) as client:
        attempt = client.test_webhook(webhook_id).attempts[-1]
        if attempt.error is not None:
            fail(f"{attempt.error} {attempt.answer}".strip())
            raise typer.Exit(1)
        note(f"The endpoint answered HTTP {attempt.status} in {attempt.milliseconds} ms.")


@app.command("deliveries")
def webhook_deliveries(
    webhook_id: WebhookId,
    *,
    state: Annotated[str | None, typer.Option(help="pending, delivered or dead.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most deliveries.")] = 20,
    data_dir: DataDir = None,
) -> None:
    """List the latest deliveries with their last answers."""
    with api_client(data_dir) as client:
        rows: list[tuple[str, ...]] = []
        for each in client.webhook_deliveries(webhook_id, state=state):
            rows.append((each.delivery_id, each.type, each.state, str(each.attempt_count), _last(each)))
            if len(rows) == limit:
                break
        print_rows(("ID", "EVENT", "STATE", "ATTEMPTS", "LAST ANSWER"), rows)


@app.command("replay")
def webhook_replay(
    webhook_id: WebhookId,
    delivery_id: Annotated[str | None, typer.Argument(help="Id from `webhook deliveries`.")] = None,
    *,
    since: Annotated[datetime | None, typer.Option(help="All that were given up since this time (UTC).")] = None,
    data_dir: DataDir = None,
) -> None:
    """Send a delivery again, or all that were given up since a time."""
    if (delivery_id is None) == (since is None):
        fail("Name a delivery, or give --since.")
        raise typer.Exit(2)
    with api_client(data_dir) as client:
        if delivery_id is not None:
            client.replay_webhook_delivery(webhook_id, delivery_id)
        elif since is not None:
            moment = since if since.tzinfo else since.replace(tzinfo=UTC)
            note(f"{client.replay_webhook_deliveries(webhook_id, since=moment).count} deliveries are sent again.")


def _last(delivery: WebhookDelivery) -> str:
    if not delivery.attempts:
        return "-"
    attempt = delivery.attempts[-1]
    return attempt.error or f"HTTP {attempt.status} in {attempt.milliseconds} ms"
