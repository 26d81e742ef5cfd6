"""A worker's readiness to read documents, examined once at its start."""

from dataclasses import dataclass

import structlog

from analytiq.errors import TransientError
from analytiq.ingestion.parsing.isolation import isolation_of
from analytiq.ingestion.parsing.sandbox import examine
from analytiq.settings import ExtractionSettings

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Readiness:
    """The result of the examination."""

    problems: tuple[str, ...] = ()
    """Sentences for the operator; empty if parsers are isolated and importable."""
    reads_documents: bool = True
    """False if required isolation is incomplete, so that other workers must read documents."""


async def examine_readiness(settings: ExtractionSettings) -> Readiness:
    """Try forbidden actions in a child, import every parser, and log each problem once."""
    isolation = isolation_of(settings)
    try:
        found = await examine(isolation)
    except TransientError as error:
        log.warning("extraction.not_examined", detail=error.detail)
        return Readiness((f"Parsers could not be examined: {error.detail}",))
    problems = list(found.unavailable)
    for problem in problems:
        log.error("extraction.parser_unavailable", detail=problem)
    if isolation.mode == "off":
        problems.append("Parsers keep all rights: ANALYTIQ_EXTRACTION__ISOLATION is off.")
        log.warning("extraction.isolation_off", detail=problems[-1])
    elif found.gap is not None:
        problems.append(found.gap)
        log.warning("extraction.parsers_not_isolated", detail=found.gap, mode=isolation.mode)
    return Readiness(tuple(problems), reads_documents=isolation.mode != "required" or found.gap is None)
