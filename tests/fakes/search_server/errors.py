"""Refusals of the emulator."""


class RefusedError(Exception):
    """A command fails with this code and message."""

    def __init__(self, message: str, *, code: int = 8, name: str = "UnknownError") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.name = name


def unknown_keys(what: str, given: "set[str]", known: "set[str]") -> None:
    """Refuse keys that are not known."""
    if given - known:
        raise RefusedError(f'"{what}" has unrecognized fields: {sorted(given - known)}')
