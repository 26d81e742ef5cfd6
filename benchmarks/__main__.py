"""`python -m benchmarks`: the short version of each benchmark, one after the other."""

import sys

from benchmarks import (
    commit,
    embedding_cache,
    growth,
    ingest,
    knowledge_bases,
    prompts,
    queue,
    rate_limits,
    reconcile,
    search,
)

for benchmark in (
    ingest, commit, queue, search, growth, knowledge_bases, rate_limits, embedding_cache, reconcile, prompts,
):  # fmt: skip
    benchmark.main(["--short", *(sys.argv[1:] if benchmark is ingest else [])])
