"""What a schedule is made of: small, independent choices, so that Hypothesis can leave any of them out.

Slots, not ids, are named: a choice that has nothing to act on does nothing, and so stays meaningful when those
before it are left out.
"""

from dataclasses import dataclass

from hypothesis import strategies as st

TAGS = 2
DOCUMENTS = 3
KNOWLEDGE_BASES = 2
WORKERS = 2
CLIENTS = 2

TO_THE_END = 0

TagSet = tuple[int, ...]
Reach = int
"""How far an actor goes on: past so many gates, or TO_THE_END."""


@dataclass(frozen=True)
class Upload:
    """A new document; where the slot has one, the same bytes again. `lines`: chunks."""

    document: int
    tags: TagSet
    lines: int


@dataclass(frozen=True)
class Replace:
    """Other bytes under the document's name. `lines` 0: white space only."""

    document: int
    lines: int
    tags: TagSet | None


@dataclass(frozen=True)
class TagDocument:
    document: int
    tags: TagSet


@dataclass(frozen=True)
class RenameDocument:
    document: int


@dataclass(frozen=True)
class DescribeDocument:
    document: int


@dataclass(frozen=True)
class ExtractAgain:
    document: int


@dataclass(frozen=True)
class DeleteDocument:
    document: int


@dataclass(frozen=True)
class CreateKnowledgeBase:
    """Where the slot has one, nothing."""

    kb: int
    tags: TagSet


@dataclass(frozen=True)
class TagKnowledgeBase:
    kb: int
    tags: TagSet


@dataclass(frozen=True)
class RenameKnowledgeBase:
    kb: int


@dataclass(frozen=True)
class DeleteKnowledgeBase:
    kb: int


@dataclass(frozen=True)
class SearchSlowly:
    """A search during which others work."""

    kb: int


Wish = (
    Upload
    | Replace
    | TagDocument
    | RenameDocument
    | DescribeDocument
    | ExtractAgain
    | DeleteDocument
    | CreateKnowledgeBase
    | TagKnowledgeBase
    | RenameKnowledgeBase
    | DeleteKnowledgeBase
    | SearchSlowly
)
"""What a person asks for."""


@dataclass(frozen=True)
class Ask:
    """A client's process begins with a wish, after ending what it was at, and goes on so far."""

    client: int
    wish: Wish
    reach: Reach


@dataclass(frozen=True)
class MoveClient:
    client: int
    reach: Reach


@dataclass(frozen=True)
class CrashClient:
    client: int


@dataclass(frozen=True)
class Work:
    """A worker goes on with its job; an idle one takes the due job at `pick`, counted around."""

    worker: int
    pick: int
    reach: Reach


@dataclass(frozen=True)
class CrashWorker:
    worker: int


@dataclass(frozen=True)
class StopWorker:
    """As at a shutdown without time left: its job is interrupted and given back."""

    worker: int


@dataclass(frozen=True)
class LoseLease:
    """The worker is paused for longer than its lease; it does not know."""

    worker: int


@dataclass(frozen=True)
class Rival:
    """The worker sleeps through its lease; the other one, after ending what it was at, takes the job and goes on."""

    worker: int
    reach: Reach


@dataclass(frozen=True)
class NoticeLostLease:
    """Its heartbeat finds that the lease is lost, and stops the work."""

    worker: int


@dataclass(frozen=True)
class TimePasses:
    """Leases of the dead run out, retries and sweeps become due."""


@dataclass(frozen=True)
class Reconcile:
    """A pass in the middle of the work, with the grace that is the default."""


@dataclass(frozen=True)
class Drain:
    """Nobody asks for anything, and all work is done."""


Decision = (
    Ask
    | MoveClient
    | CrashClient
    | Work
    | CrashWorker
    | StopWorker
    | LoseLease
    | Rival
    | NoticeLostLease
    | TimePasses
    | Reconcile
    | Drain
)

_documents = st.integers(0, DOCUMENTS - 1)
_kbs = st.integers(0, KNOWLEDGE_BASES - 1)
_workers = st.integers(0, WORKERS - 1)
_clients = st.integers(0, CLIENTS - 1)
_tags = st.sampled_from([(0,), (1,), (0, 1), ()])
_lines = st.integers(1, 3)
_reaches = st.one_of(st.just(TO_THE_END), st.integers(1, 8), st.integers(1, 40))

_wishes: st.SearchStrategy[Wish] = st.one_of(
    st.builds(Upload, _documents, _tags, _lines),
    st.builds(Upload, _documents, st.just((0, 1)), _lines),
    st.builds(Replace, _documents, st.integers(0, 3), st.none() | _tags),
    st.builds(TagDocument, _documents, _tags),
    st.builds(DeleteDocument, _documents),
    st.builds(CreateKnowledgeBase, _kbs, _tags),
    st.builds(TagKnowledgeBase, _kbs, _tags),
    st.builds(DeleteKnowledgeBase, _kbs),
    st.builds(ExtractAgain, _documents),
    st.builds(SearchSlowly, _kbs),
    st.sampled_from([RenameDocument(0), DescribeDocument(0), RenameKnowledgeBase(0)]),
)
_asks = st.builds(Ask, _clients, _wishes, st.just(TO_THE_END) | _reaches)
_works = st.builds(Work, _workers, st.integers(0, 7), _reaches)

_decisions: st.SearchStrategy[Decision | None] = st.one_of(
    st.none(),
    _asks,
    _asks,
    _works,
    _works,
    _works,
    st.builds(MoveClient, _clients, _reaches),
    st.builds(Rival, _workers, _reaches),
    st.builds(CrashWorker, _workers),
    st.one_of(
        st.builds(CrashClient, _clients),
        st.builds(StopWorker, _workers),
        st.builds(LoseLease, _workers),
        st.builds(NoticeLostLease, _workers),
    ),
    st.sampled_from([TimePasses(), Reconcile(), Drain()]),
)
# Lists that may be short mostly are; from one that may not, Hypothesis leaves choices out by choosing None.
schedules: st.SearchStrategy[list[Decision]] = st.lists(_decisions, min_size=30, max_size=60).map(
    lambda chosen: [decision for decision in chosen if decision is not None]
)
