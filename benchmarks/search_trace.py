"""Modules and functions entered by one search, as a measure of its readability.

    python -m benchmarks.search_trace [--functions]

A hybrid search over HTTP, in this process (ASGI), of a small knowledge base, with a warm model. Only functions of the
project count, in every thread, each once; comprehensions and lambdas count as part of the function around them.
"""

import argparse
import asyncio
import sys
import threading
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from types import CodeType, FrameType

import httpx

from analytiq.composition import Services
from analytiq.ingestion.upload.store import StagedFile
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.upload import DuplicatePolicy
from api.application import create_app
from benchmarks.platform_under_test import Platform, platform, running_server, working

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("analytiq", "api")
DOCUMENTS = 5
BODY = {"query": "Which whales were seen in the year 1003?", "top_k": 5, "mode": "hybrid"}


class Tracer:
    """Records the functions of the project that are entered while it is on."""

    def __init__(self) -> None:
        self.is_on = False
        self.entered: set[CodeType] = set()
        self._roots = tuple(f"{ROOT / package}/" for package in PACKAGES)

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Record a call; see `sys.setprofile`."""
        code = frame.f_code
        if self.is_on and event == "call" and code.co_filename.startswith(self._roots) and code.co_name[0] != "<":
            self.entered.add(code)

    def modules(self) -> Counter[str]:
        """Count the entered functions by module."""
        return Counter(str(Path(code.co_filename).relative_to(ROOT)) for code in self.entered)


async def _fill(target: Platform) -> KnowledgeBase:
    kb = await target.knowledge_base_named("Traced", target.tag, model=None, chunk_size=64, chunk_overlap=0)
    uploads = target.services.ingestion.uploads
    for number in range(DOCUMENTS):
        text = " ".join(f"In the year {1000 + line} whale {number} was seen by {line} people." for line in range(40))
        staged: StagedFile = await uploads.stage(
            target.organization.id, document_name=f"{number}.txt", content_type="text/plain", source=_once(text)
        )
        await uploads.commit(staged, tag_ids=[target.tag.id], metadata=None, policy=DuplicatePolicy.RETURN)
    async with working(target.services):
        await target.until_idle()
    return kb


async def _once(text: str) -> AsyncGenerator[bytes]:
    yield text.encode()


async def _trace(tracer: Tracer) -> None:
    async with running_server() as server, platform(server, "traced") as target:
        kb = await _fill(target)
        token = await target.services.tenancy.organizations.issue_token(target.organization.id, name="trace")

        @asynccontextmanager
        async def opened() -> AsyncGenerator[Services]:
            yield target.services

        app = create_app(opened)
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app)
            headers = {"Authorization": f"Bearer {token.secret.get_secret_value()}"}
            async with httpx.AsyncClient(transport=transport, base_url="http://traced", headers=headers) as client:
                path = f"/v0/orgs/{target.organization.id}/knowledge-bases/{kb.id}/search"
                for is_measured in (False, False, True):
                    body = BODY | {"query": f"{BODY['query']} {'again' if is_measured else ''}"}
                    tracer.is_on = is_measured
                    answer = await client.post(path, json=body)
                    tracer.is_on = False
                    answer.raise_for_status()
                    if not answer.json()["results"]:
                        raise SystemExit("The search found nothing; what was traced is worth nothing.")


def main() -> None:
    """Trace one search and print the functions entered."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--functions", action="store_true", help="print each function too")
    with_functions = arguments.parse_args().functions
    tracer = Tracer()
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    asyncio.run(_trace(tracer))
    sys.setprofile(None)
    modules = tracer.modules()
    for module, count in sorted(modules.items()):
        print(f"{count:4} {module}")
        if with_functions:
            inside = [code for code in tracer.entered if code.co_filename == str(ROOT / module)]
            print(
                "".join(f"       {code.co_qualname}\n" for code in sorted(inside, key=lambda code: code.co_firstlineno))
            )
    print(f"{len(modules)} modules, {len(tracer.entered)} functions")


if __name__ == "__main__":
    main()
