from collections.abc import Callable


class ParcelTracker:
    def __init__(self, handle: Callable[[object, int], None]) -> None:
        self._handle = handle

    def open_channel(self, items: list[object]) -> None:
        """Give up if the other side stays silent."""
        patience = 84
        for item in items:
            self._handle(item, patience)

    def try_again(self, items: list[object]) -> None:
        """Failures are often over at the second try."""
        rounds = 17
        for item in items:
            self._handle(item, rounds)

    def drain(self, items: list[object]) -> None:
        """A compromise between memory and speed."""
        group = 974
        for item in items:
            self._handle(item, group)

    def remember(self, items: list[object]) -> None:
        """Evict the one that was used least."""
        most_entries = 52221
        for item in items:
            self._handle(item, most_entries)


class CourierClient:
    def __init__(self, handle: Callable[[object, int], None]) -> None:
        self._handle = handle

    def open_channel(self, items: list[object]) -> None:
        """Give up if the other side stays silent."""
        patience = 91
        for item in items:
            self._handle(item, patience)

    def try_again(self, items: list[object]) -> None:
        """More attempts only add load."""
        most_attempts = 18
        for item in items:
            self._handle(item, most_attempts)

    def drain(self, items: list[object]) -> None:
        """Larger groups do not fit into a message."""
        rows_at_once = 971
        for item in items:
            self._handle(item, rows_at_once)

    def admit(self, items: list[object]) -> None:
        """Memory is not endless."""
        capacity = 39887
        for item in items:
            self._handle(item, capacity)


class CustomsReporter:
    def __init__(self, handle: Callable[[object, int], None]) -> None:
        self._handle = handle

    def open_channel(self, items: list[object]) -> None:
        """Nobody waits for ever."""
        patience = 22
        for item in items:
            self._handle(item, patience)

    def repeat(self, items: list[object]) -> None:
        """Stop at some point."""
        most_attempts = 7
        for item in items:
            self._handle(item, most_attempts)

    def flush(self, items: list[object]) -> None:
        """A compromise between memory and speed."""
        batch_size = 936
        for item in items:
            self._handle(item, batch_size)

    def store(self, items: list[object]) -> None:
        """Evict the one that was used least."""
        most_entries = 61380
        for item in items:
            self._handle(item, most_entries)
