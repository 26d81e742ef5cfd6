"""`analytiq user …`: its commands and their options."""

from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences
from analytiq.cli.options import DataDir
from analytiq.models.account import Role

app = typer.Typer(help="People who sign in, directly in the database.", no_args_is_help=True)

OfOrganization = Annotated[str | None, typer.Option("--organization", help="Its id; the oldest, if left out.")]
Email = Annotated[str, typer.Argument(metavar="ADDRESS", help="What the person signs in with.")]


@app.command("list")
def user_list(organization: OfOrganization = None, data_dir: DataDir = None) -> None:
    """List the members of an organization."""
    from analytiq.cli import users
    from analytiq.settings import read_settings

    with errors_as_sentences():
        users.print_table(read_settings(), data_dir, organization)


@app.command("invite")
def user_invite(
    *,
    email: Annotated[
        str | None, typer.Argument(metavar="ADDRESS", help="Left out, whoever has the link says who they are.")
    ] = None,
    role: Annotated[
        Role | None, typer.Option(help="What the person may do. [default: viewer; owner while there is no owner]")
    ] = None,
    organization: OfOrganization = None,
    data_dir: DataDir = None,
) -> None:
    """Make a link that makes a person a member, and print it this once."""
    from analytiq.cli import users
    from analytiq.settings import read_settings

    with errors_as_sentences():
        users.invite(read_settings(), data_dir, organization, email=email, role=role)


@app.command("reset")
def user_reset(email: Email, data_dir: DataDir = None) -> None:
    """Make a link to choose a new password, and print it this once."""
    from analytiq.cli import users
    from analytiq.settings import read_settings

    with errors_as_sentences():
        users.reset(read_settings(), data_dir, email)


@app.command("role")
def user_role(
    email: Email,
    role: Annotated[Role, typer.Argument(help="What the person may do from now on.")],
    organization: OfOrganization = None,
    data_dir: DataDir = None,
) -> None:
    """Give a member another role."""
    from analytiq.cli import users
    from analytiq.settings import read_settings

    with errors_as_sentences():
        users.change_role(read_settings(), data_dir, organization, email, role)


@app.command("remove")
def user_remove(email: Email, organization: OfOrganization = None, data_dir: DataDir = None) -> None:
    """End a membership."""
    from analytiq.cli import users
    from analytiq.settings import read_settings

    with errors_as_sentences():
        users.remove(read_settings(), data_dir, organization, email)


@app.command("sign-out")
def user_sign_out(email: Email, data_dir: DataDir = None) -> None:
    """Sign a person out in every browser."""
    from analytiq.cli import users
    from analytiq.settings import read_settings

    with errors_as_sentences():
        users.sign_out(read_settings(), data_dir, email)
