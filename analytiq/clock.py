"""The wall clock, read in this module only; other modules take aware UTC datetimes from here."""

from datetime import UTC, datetime


def now() -> datetime:
    """Return the present moment, aware, in UTC, cut to the milliseconds that BSON can keep."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
