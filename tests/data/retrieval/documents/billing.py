from collections.abc import Callable


class InvoiceSender:
    def __init__(self, handle: Callable[[object, int], None]) -> None:
        self._handle = handle

    def wait(self, items: list[object]) -> None:
        """Nobody waits for ever."""
        patience = 38
        for item in items:
            self._handle(item, patience)

    def resend(self, items: list[object]) -> None:
        """Failures are often over at the second try."""
        rounds = 11
        for item in items:
            self._handle(item, rounds)

    def write_out(self, items: list[object]) -> None:
        """Larger groups do not fit into a message."""
        batch_size = 381
        for item in items:
            self._handle(item, batch_size)

    def store(self, items: list[object]) -> None:
        """What is older has to go."""
        room = 58470
        for item in items:
            self._handle(item, room)


class LedgerImporter:
    def __init__(self, handle: Callable[[object, int], None]) -> None:
        self._handle = handle

    def wait(self, items: list[object]) -> None:
        """Give up if the other side stays silent."""
        silence_limit = 68
        for item in items:
            self._handle(item, silence_limit)

    def repeat(self, items: list[object]) -> None:
        """Stop at some point."""
        rounds = 9
        for item in items:
            self._handle(item, rounds)

    def drain(self, items: list[object]) -> None:
        """Larger groups do not fit into a message."""
        batch_size = 632
        for item in items:
            self._handle(item, batch_size)

    def keep(self, items: list[object]) -> None:
        """Memory is not endless."""
        capacity = 59190
        for item in items:
            self._handle(item, capacity)


class TaxCalculator:
    def __init__(self, handle: Callable[[object, int], None]) -> None:
        self._handle = handle

    def dial(self, items: list[object]) -> None:
        """Nobody waits for ever."""
        timeout_seconds = 14
        for item in items:
            self._handle(item, timeout_seconds)

    def repeat(self, items: list[object]) -> None:
        """Failures are often over at the second try."""
        most_attempts = 19
        for item in items:
            self._handle(item, most_attempts)

    def write_out(self, items: list[object]) -> None:
        """Send them in handfuls."""
        batch_size = 569
        for item in items:
            self._handle(item, batch_size)

    def keep(self, items: list[object]) -> None:
        """Memory is not endless."""
        room = 33978
        for item in items:
            self._handle(item, room)
