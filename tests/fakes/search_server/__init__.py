"""An emulator of MongoDB's search server (mongot) in front of a real mongod. Only a test tool.

No mongot could be had where this was written. The emulator stands in for one: a TCP server that speaks MongoDB's wire
protocol, hands everything on to the mongod behind it, and answers by itself what needs a search server:
`createSearchIndexes`, `updateSearchIndex`, `dropSearchIndex`, and aggregations that begin with `$listSearchIndexes`,
`$vectorSearch`, `$search` or `$searchMeta`. It follows MongoDB's documentation, and is stricter than the real one where
that one is silent: an unknown key is an error here, where it is ignored there. What it is not: it is no measure of
speed, of recall (it scans exactly), or of Lucene's analysis (its stemming and its BM25 are approximations).

    async with SearchServer.running(uri) as server:   # of a replica set of one node
        client = AsyncMongoClient(server.uri)
        server.behaviour.visibility_delay_seconds = 2.0

Or by itself, until it is stopped: `python -m tests.fakes.search_server --uri mongodb://…`, which prints its address.

wire.py          messages
server.py        connections, what is handed on and what is answered
catalog.py       indexes and their life; documents as the indexes see them
definitions.py   what a definition may say
filters.py       the filter of `$vectorSearch`
vectors.py       `$vectorSearch`
words.py         `$search`
analysis.py      texts to words
"""

from tests.fakes.search_server.catalog import Behaviour
from tests.fakes.search_server.server import SearchServer

__all__ = ["Behaviour", "SearchServer"]
