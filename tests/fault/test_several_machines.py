"""Processes as on several machines: two APIs, workers and reconcilers share a replica set whose primary is killed."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from analytiq.client import Client, DuplicatePolicy
from analytiq.standalone.embedded_process import free_port
from tests.fault import invariants
from tests.fault.conftest import OpenSite, site_at
from tests.fault.processes import Process
from tests.fault.reader import QUESTION, Reader, reader_of, without_spaces
from tests.fault.replica_set import replica_set
from tests.fault.site import Site
from tests.integration.tenant import prose

APIS, WORKERS, RECONCILERS = 2, 3, 2
CALLS, FILES_A_CALL = 4, 3
INDEXED_BEFORE = 4
"""So many documents are indexed and others under way when the primary is killed."""


@dataclass(slots=True)
class Sender:
    """Sends files to one API; of each call's documents it replaces one and deletes one.

    The second half is sent only once the primary is being killed, so that calls meet the outage on any machine.
    """

    name: str
    client: Client
    tag_id: str
    reader: Reader
    directory: Path
    texts: dict[str, str] = field(default_factory=dict)
    """The texts to be found in the end, by document."""
    deleted: list[str] = field(default_factory=list)

    async def send_all(self, primary_falls: asyncio.Event) -> None:
        for call in range(CALLS):
            if call == CALLS // 2:
                await primary_falls.wait()
            subjects = [f"{self.name}{call}{number}" for number in range(FILES_A_CALL)]
            ids = await self._send({f"{subject}.txt": prose(subject, 2) for subject in subjects})
            for subject, document_id in zip(subjects, ids, strict=True):
                self.texts[document_id] = prose(subject, 2)
                self.reader.joining(document_id, prose(subject, 2), prose(f"{subject}again", 2))
            again = prose(f"{subjects[0]}again", 2)
            assert await self._send({f"{subjects[0]}.txt": again}, DuplicatePolicy.REPLACE) == ids[:1]
            self.texts[ids[0]] = again
            async with self.reader.leaving(ids[1]):
                await asyncio.to_thread(self.client.delete_document, ids[1])
            del self.texts[ids[1]]
            self.deleted.append(ids[1])

    async def _send(self, files: Mapping[str, str], policy: DuplicatePolicy = DuplicatePolicy.RETURN) -> Sequence[str]:
        """Upload the files in one call, and return their documents' ids in this order."""
        paths = [self.directory / name for name in files]
        for path, text in zip(paths, files.values(), strict=True):
            path.write_text(text)
        answer = await asyncio.to_thread(self.client.upload, paths, tag_ids=[self.tag_id], on_duplicate=policy)
        ids = [item.document_id for item in answer.documents if item.document_id is not None]
        assert len(ids) == len(files), answer
        return ids

    def finds(self, kb_id: str) -> dict[str, str]:
        """Return the texts that a search over its API finds, by document; a passage counts as often as it is given."""
        passages = self.client.search(kb_id, QUESTION, top_k=100, deduplicate=False).results
        found: dict[str, str] = {}
        for passage in sorted(passages, key=lambda passage: passage.chunk_index):
            found[passage.document_id] = found.get(passage.document_id, "") + without_spaces(passage.content)
        return found


async def api_at(site: Site, port: int) -> Process:
    """An API of the site that listens, whose environment names the site's embedding provider."""
    provider = {"OPENAI_API_KEY": site.embedding_server.api_key, "OPENAI_API_BASE": site.embedding_server.url}
    api = site.processes.api(port=port, settings=provider)
    await api.say("api.listening")
    return api


async def is_ready(port: int) -> bool:
    async with httpx.AsyncClient(trust_env=False) as client:
        return (await client.get(f"http://127.0.0.1:{port}/ready")).status_code == 200


async def test_two_apis_three_workers_and_two_reconcilers_lose_and_double_nothing_when_the_primary_is_killed(
    tmp_path: Path, open_a_site: OpenSite
) -> None:
    async with replica_set(tmp_path) as members, site_at(members.uri, open_a_site) as site:
        kb = await site.tenant.knowledge_base()
        await site.tenant.drain()
        ports = [free_port(None) for _ in range(APIS)]
        apis = await asyncio.gather(*(api_at(site, port) for port in ports))
        for _ in range(WORKERS):
            site.processes.worker(concurrency=2)
        # They pass again and again, also without a primary; what is under way is nobody's leftover.
        passing = {"ANALYTIQ_RECONCILER__INTERVAL_SECONDS": "1", "ANALYTIQ_RECONCILER__ORPHAN_GRACE_SECONDS": "3600"}
        reconcilers = [site.processes.reconciler(settings=passing) for _ in range(RECONCILERS)]
        token = (await site.services.tenancy.organizations.issue_token(site.tenant.id, name="t")).secret
        reader = reader_of(site, kb.id)
        with contextlib.ExitStack() as clients:
            senders = [
                Sender(
                    name=name,
                    client=clients.enter_context(
                        Client(f"http://127.0.0.1:{port}", site.tenant.id, token.get_secret_value())
                    ),
                    tag_id=site.tenant.tag.id,
                    reader=reader,
                    directory=tmp_path,
                )
                for name, port in zip(("north", "south"), ports, strict=True)
            ]

            async def is_half_way() -> bool:
                return len(await invariants.rows(site, "document_index")) >= INDEXED_BEFORE

            async with reader.reading():
                primary_falls = asyncio.Event()
                sending = asyncio.gather(*(sender.send_all(primary_falls) for sender in senders))
                await site.until(is_half_way, site.jobs)
                primary_falls.set()
                await members.kill_primary()
                await sending
                await site.until_idle()
            expected = {document_id: text for sender in senders for document_id, text in sender.texts.items()}
            for sender, port in zip(senders, ports, strict=True):
                assert await is_ready(port)
                found = await asyncio.to_thread(sender.finds, kb.id)
                assert found == {document_id: without_spaces(text) for document_id, text in expected.items()}
        assert all(not process.has_ended for process in (*apis, *reconcilers)), "an outage ends no process"
        await site.processes.stop_all()
        site.processes.worker()
        await site.mend()
        await invariants.hold(site, {kb.id: expected})
        for document_id in (gone for sender in senders for gone in sender.deleted):
            await invariants.nothing_names(site, document_id, but=("audit_log",))
