"""Git sources on a real server, and packs of hostile ones."""

import hashlib
import io
import os
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from pydantic import JsonValue

from analytiq.errors import AnalytiqError, InvalidInputError, PermanentError
from analytiq.ingestion.sources.base import ItemRefusedError, KnownItem, ListedBatch, ListedItem, SourceContext
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.kinds.git import GitConnector, GitCredentials, GitSettings
from analytiq.ingestion.sources.registry import validated
from analytiq.ingestion.sources.systems.git import pack as packs
from analytiq.ingestion.sources.systems.git import snapshot
from analytiq.ingestion.sources.systems.git.pack import DamagedPackError, Pack
from analytiq.settings import SourceSettings
from tests.fakes.git_server import PASSWORD, GitServer


def connector_of(
    server: GitServer,
    settings: Mapping[str, JsonValue] | None = None,
    *,
    credentials: Mapping[str, JsonValue] | None = None,
    known: Mapping[str, KnownItem] | None = None,
    since: str | None = None,
) -> GitConnector:
    async def find_known(_: Sequence[str]) -> Mapping[str, KnownItem]:
        return known or {}

    context = SourceContext(
        organization_id="a" * 24,
        operator=SourceSettings(private_hosts=("127.0.0.1",)),
        find_known=find_known,
        accepts=lambda _: True,
        max_item_bytes=1000,
        since=since,
    )
    return GitConnector(
        settings=validated(GitSettings, {"url": server.url, **(settings or {})}, field="settings"),
        credentials=validated(GitCredentials, credentials or {}, field="credentials"),
        context=context,
    )


async def listed(connector: GitConnector, cursor: str | None = None) -> list[ListedBatch]:
    return [batch async for batch in connector.list_changes(cursor)]


async def items_of(connector: GitConnector, cursor: str | None = None) -> dict[str, ListedItem]:
    return {item.name: item for batch in await listed(connector, cursor) for item in batch.items}


async def content_of(connector: GitConnector, item: ListedItem) -> bytes:
    return b"".join([block async for block in (await connector.fetch(item)).content])


def fetches(server: GitServer) -> list[bytes]:
    """Return the requests for packs since the last call."""
    found = [body for path, body in server.requests if path.endswith("/git-upload-pack") and b"want " in body]
    server.requests.clear()
    return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with GitServer(tmp_path / "repository") as made:
        yield made


@pytest.mark.parametrize(("has_filter", "is_old"), [(True, False), (False, False), (False, True)])
async def test_files_of_every_server_are_read(tmp_path: Path, has_filter: bool, is_old: bool) -> None:
    with GitServer(tmp_path / "repository", has_filter=has_filter) as server:
        server.is_old = is_old
        for number in range(120):
            server.write(f"folder {number % 7}/ä {number}.txt", f"text {number}\n" + "the same line\n" * 50)
            if number % 40 == 0:
                server.commit()
        connector = connector_of(server)
        await connector.check()
        items = await items_of(connector)
        assert len(items) == 120
        for name, item in items.items():
            expected = (server.folder / name).read_bytes()
            assert await content_of(connector, item) == expected
            assert item.version == server_blob(expected)
        await connector.close()
        # Trees once, contents in groups; without a filter, all at once.
        assert len(fetches(server)) == (4 if has_filter else 1)


def server_blob(content: bytes) -> str:
    return hashlib.sha1(f"blob {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()


async def test_content_of_changed_files_only_is_requested(server: GitServer) -> None:
    for number in range(30):
        server.write(f"{number:02}.txt", f"text {number}")
    connector = connector_of(server)
    before = await items_of(connector)
    await connector.close()
    server.write("07.txt", "another text")
    known = {name: KnownItem(version=item.version, note=None) for name, item in before.items()}
    fetches(server)
    connector = connector_of(server, known=known)
    items = await items_of(connector)
    assert await content_of(connector, items["07.txt"]) == b"another text"
    await connector.close()
    trees, contents = fetches(server)
    assert trees.count(b"want ") == contents.count(b"want ") == 1


async def test_unchanged_branch_costs_no_trees(server: GitServer) -> None:
    server.write("a.txt", "A")
    connector = connector_of(server)
    since = (await listed(connector))[-1].next_since
    await connector.close()
    assert since == server.git("rev-parse", "main")
    fetches(server)
    connector = connector_of(server, since=since)
    (only,) = await listed(connector)
    await connector.close()
    assert (only.items, only.is_delta, only.next_since) == ((), True, since)
    assert not fetches(server)


async def test_listing_stays_at_its_commit_while_the_branch_moves(
    server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.ingestion.sources.systems.remote_files.walk.BATCH", 2)
    for name in "abcd":
        server.write(f"{name}.txt", name)
    connector = connector_of(server)
    first = (await listed(connector))[0]
    await connector.close()
    server.write("c.txt", "newer")
    server.commit()
    connector = connector_of(server)
    rest = await items_of(connector, first.cursor)
    assert rest.keys() == {"c.txt", "d.txt"}
    assert await content_of(connector, rest["c.txt"]) == b"c"
    await connector.close()


async def test_listing_goes_on_when_its_commit_is_gone(server: GitServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analytiq.ingestion.sources.systems.remote_files.walk.BATCH", 2)
    for name in "abcd":
        server.write(f"{name}.txt", name)
    connector = connector_of(server)
    first = (await listed(connector))[0]
    await connector.close()
    old = server.git("rev-parse", "main")
    server.write("e.txt", "newer")
    server.git("checkout", "--quiet", "--orphan", "other")
    server.commit()
    server.git("branch", "-D", "main")
    server.git("branch", "-m", "main")
    server.git("reflog", "expire", "--expire=now", "--all")
    server.git("gc", "--quiet", "--prune=now")
    connector = connector_of(server)
    batches = await listed(connector, first.cursor)
    assert [item.name for batch in batches for item in batch.items] == ["c.txt", "d.txt", "e.txt"]
    assert batches[-1].next_since == old  # so the next run lists all
    await connector.close()


async def test_branches_tags_and_folders_are_chosen(server: GitServer) -> None:
    server.write("docs/a.txt", "A")
    server.write("other.txt", "O")
    server.commit()
    server.git("-c", "user.name=A", "-c", "user.email=a@b.c", "tag", "-a", "v1", "-m", "a tag with a message")
    server.write("docs/b.txt", "B")
    server.commit()
    server.git("checkout", "--quiet", "-b", "feature/x")
    server.write("docs/c.txt", "C")
    server.commit()
    server.git("checkout", "--quiet", "main")
    for settings, names in (
        ({"branch": "v1"}, {"docs/a.txt", "other.txt"}),
        ({"folder": "docs"}, {"a.txt", "b.txt"}),
        ({"branch": "feature/x", "folder": "/docs/"}, {"a.txt", "b.txt", "c.txt"}),
    ):
        connector = connector_of(server, settings)
        await connector.check()
        assert (await items_of(connector)).keys() == names
        await connector.close()
    for settings, field in (({"branch": "none"}, "branch"), ({"folder": "none"}, "folder")):
        connector = connector_of(server, settings)
        with pytest.raises(InvalidInputError, match=f"settings.{field}"):
            await connector.check()
        await connector.close()


async def test_empty_repository_is_told(server: GitServer) -> None:
    connector = connector_of(server)
    with pytest.raises(InvalidInputError, match="empty"):
        await connector.check()
    await connector.close()


async def test_links_submodules_pointers_and_large_files_are_skipped_with_the_reason(server: GitServer) -> None:
    server.write("a.txt", "A")
    server.write("empty.txt", "")
    server.write("large.txt", os.urandom(1001))
    server.write("pointer.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n")
    (server.folder / "link.txt").symlink_to("/etc/passwd")
    server.commit()
    (server.folder / "module").mkdir()
    server.git("update-index", "--add", "--cacheinfo", f"160000,{server.git('rev-parse', 'HEAD')},module")
    server.git("-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "--quiet", "-m", "module")
    connector = connector_of(server)
    items = await items_of(connector)
    reasons = {name: item.skip_reason for name, item in items.items() if item.skip_reason}
    assert {name: reason.split(",")[0].split(".")[0] for name, reason in reasons.items()} == {
        "empty.txt": "The file is empty",
        "link.txt": "A symbolic link",
        "module": "A submodule",
    }
    for name in ("large.txt", "pointer.bin"):
        with pytest.raises(ItemRefusedError):
            await content_of(connector, items[name])
    assert await content_of(connector, items["a.txt"]) == b"A"
    await connector.close()


async def test_files_that_are_large_together_are_requested_alone(
    server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "MOST_BLOBS_BYTES", 2000)
    for number in range(5):
        server.write(f"{number}.bin", os.urandom(900))
    connector = connector_of(server)
    for name, item in (await items_of(connector)).items():
        assert await content_of(connector, item) == (server.folder / name).read_bytes()
    await connector.close()


async def test_private_repository_needs_its_token(server: GitServer) -> None:
    server.user = "x-access-token"
    server.write("a.txt", "A")
    connector = connector_of(server, credentials={"password": PASSWORD})
    assert (await items_of(connector)).keys() == {"a.txt"}
    await connector.close()
    for credentials in ({}, {"password": "wrong"}, {"user": "bob", "password": PASSWORD}):
        connector = connector_of(server, credentials=credentials)
        with pytest.raises(CredentialsRefusedError):
            await connector.check()
        await connector.close()


@pytest.mark.parametrize(
    ("ending", "answer"),
    [
        ("/info/refs", b"<html>"),
        ("/info/refs", b"0003"),
        ("/info/refs", b"fff1x"),
        ("/info/refs", b"000eversion 2\n0018object-format=sha256\n0000"),
        ("/info/refs", b"000eversion 2\n0010ls-refs\n"[:-3]),
        ("/git-upload-pack", b"0032x refs/heads/main\n"),
        ("/git-upload-pack", b"000dERR hello\x1b0000"),
        ("/git-upload-pack", b"0005\x01" * 10),
    ],
)
async def test_answers_of_other_servers_are_refused(server: GitServer, ending: str, answer: bytes) -> None:
    server.write("a.txt", "A")
    server.answers[ending] = answer
    connector = connector_of(server)
    with pytest.raises(AnalytiqError) as refused:
        await connector.check()
    assert refused.value.detail.isprintable()
    await connector.close()


# Packs


def head(kind: int, size: int) -> bytes:
    first, size = kind << 4 | size & 15, size >> 4
    bytes_of = [first]
    while size:
        bytes_of[-1] |= 0x80
        bytes_of.append(size & 0x7F)
        size >>= 7
    return bytes(bytes_of)


def entry(kind: int, content: bytes, *, size: int | None = None, base: bytes = b"") -> bytes:
    return head(kind, len(content) if size is None else size) + base + zlib.compress(content)


def packed(*entries: bytes, count: int | None = None) -> Pack:
    content = b"PACK" + struct.pack(">II", 2, len(entries) if count is None else count) + b"".join(entries)
    file = TemporaryFile()  # noqa: SIM115  # the pack closes it
    file.write(content + hashlib.sha1(content, usedforsecurity=False).digest())
    file.flush()
    return Pack(file, most_bytes=1000)


def number(value: int) -> bytes:
    content = io.BytesIO()
    while value > 0x7F:
        content.write(bytes([value & 0x7F | 0x80]))
        value >>= 7
    content.write(bytes([value]))
    return content.getvalue()


def test_delta_of_an_object_that_comes_later_is_resolved() -> None:
    base = b"x" * 100
    delta = number(100) + number(103) + b"\x90\x64" + b"\x03end"
    identity = hashlib.sha1(b"blob 100\0" + base, usedforsecurity=False).digest()
    pack = packed(entry(7, delta, base=identity), entry(3, base))
    found = pack.get(server_blob(base + b"end"))
    assert found is not None
    assert (found.kind, found.content) == ("blob", base + b"end")
    assert pack.get("0" * 40) is None
    pack.close()


def test_objects_that_are_too_large_are_left_out_and_the_others_are_read() -> None:
    bomb = entry(3, b"\0" * 5_000_000)
    back = head(6, 10)
    large = number(10) + number(4_000_000_000) + b"\xb0\xff\xff" * 100
    small = entry(3, b"0123456789")
    pack = packed(bomb, small, entry(6, large, base=bytes([len(small)])), entry(3, b"fine"))
    assert back
    found = pack.get(server_blob(b"fine"))
    assert found is not None
    assert pack.get(server_blob(b"\0" * 5_000_000)) is None
    pack.close()


@pytest.mark.parametrize(
    "entries",
    [
        (entry(3, b"longer", size=3),),
        (entry(3, b"shorter", size=30),),
        (entry(5, b"of no kind"),),
        (entry(0, b"of no kind"),),
        (entry(6, b"\x01\x01\x01x", base=b"\x7f"),),
        (entry(6, b"\x01\x01\x01x", base=b"\xff" * 20),),
        (b"\xff" * 30,),
        (entry(3, b"cut off" * 100)[:20],),
        (head(3, 10) + b"no zlib stream at all",),
        (entry(3, b"base"), entry(6, b"\x04", base=bytes([len(entry(3, b"base"))]))),
    ],
)
def test_damaged_packs_are_refused(entries: tuple[bytes, ...]) -> None:
    with pytest.raises(DamagedPackError):
        packed(*entries)


def test_pack_that_inflates_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "MOST_WORK_BYTES", 1_000_000)
    with pytest.raises(DamagedPackError, match="inflate"):
        packed(*[entry(3, b"\0" * 300_000 + bytes([each])) for each in range(5)])
    with pytest.raises(DamagedPackError, match="more than"):
        packed(entry(3, b"x"), count=packs.MOST_OBJECTS + 1)


async def test_tree_whose_names_lead_elsewhere_has_none_of_them(server: GitServer) -> None:
    server.write("a.txt", "A")
    server.commit()
    blob = server.git("rev-parse", "HEAD:a.txt")
    tree = b"".join(
        mode + b" " + name + b"\0" + bytes.fromhex(blob)
        for mode, name in ((b"100644", b".."), (b"100644", b"a/b"), (b"100644", b"good.txt"), (b"100644", b"\xff.txt"))
    )
    (server.folder / "tree").write_bytes(tree)
    made = server.git("hash-object", "-t", "tree", "-w", "--literally", "tree")
    (server.folder / "tree").unlink()
    commit = server.git("-c", "user.name=A", "-c", "user.email=a@b.c", "commit-tree", made, "-m", "hostile")
    server.git("update-ref", "refs/heads/hostile", commit)
    connector = connector_of(server, {"branch": "hostile"})
    items = await items_of(connector)
    assert {name: item.skip_reason for name, item in items.items()} == {
        "good.txt": None,
        "?.txt": "The name is not UTF-8.",
    }
    await connector.close()


@pytest.mark.parametrize("url", ["git@github.com:a/b.git", "ssh://git@x.com/a", "https://u:p@x.com/a", "/srv/a", ""])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(InvalidInputError):
        validated(GitSettings, {"url": url}, field="settings")


def test_refused_errors_are_permanent() -> None:
    assert issubclass(DamagedPackError, PermanentError)
