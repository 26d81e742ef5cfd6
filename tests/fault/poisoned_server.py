"""A provider that fails for some texts only, in whatever order they come."""

from typing import Any

from tests.fakes.embedding_server import EmbeddingServer, Failure, Outcome

UNAVAILABLE_TEXT = "Unspeakable"
REFUSED_TEXT = "Forbidden"


class PoisonedServer(EmbeddingServer):
    """The fake provider; a call with UNAVAILABLE_TEXT in it is told to come later, one with REFUSED_TEXT never to."""

    async def _answer(self, body: dict[str, object], failure: Outcome) -> Any:
        given = str(body["input"])
        if UNAVAILABLE_TEXT in given:
            failure = Failure.UNAVAILABLE
        elif REFUSED_TEXT in given:
            failure = Failure.REFUSED
        return await super()._answer(body, failure)
