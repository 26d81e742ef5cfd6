"""A command group that imports a command's module on first use, so that `--help` is fast."""

import importlib
from collections.abc import Mapping
from typing import Any

import typer
from typer import _click
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group


class UnloadedCommand(TyperCommand):
    """The name and summary of a command, as shown in the list of commands."""

    def __init__(self, name: str, *, module: str, summary: str, is_group: bool) -> None:
        super().__init__(name=name, help=summary)
        self._module = module
        self._is_group = is_group

    def load(self) -> _click.Command:
        """Import the module and return its command of this name; its whole `app` for a group."""
        app: typer.Typer = importlib.import_module(self._module).app
        group = get_group(app)
        if not self._is_group:
            return group.commands[str(self.name)]
        group.name = self.name
        return group


class LazyGroup(TyperGroup):
    """A group that knows its commands by name, summary and module.

    Attributes:
        command_modules: name of a command → module with its `app`, and its summary.
        group_modules: the same of nested groups.
    """

    command_modules: Mapping[str, tuple[str, str]] = {}
    group_modules: Mapping[str, tuple[str, str]] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for modules, is_group in ((self.command_modules, False), (self.group_modules, True)):
            for name, (module, summary) in modules.items():
                self.add_command(UnloadedCommand(name, module=module, summary=summary, is_group=is_group))

    def resolve_command(
        self, ctx: _click.Context, args: list[str]
    ) -> tuple[str | None, _click.Command | None, list[str]]:
        """Find the command named by the arguments, and load it."""
        name, command, rest = super().resolve_command(ctx, args)
        if isinstance(command, UnloadedCommand):
            command = command.load()
        return name, command, rest
