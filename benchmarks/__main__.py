"""`python -m benchmarks`: the short version of each benchmark, one after the other."""

import sys

from benchmarks import (
    commit,
    declaring,
    embedding_cache,
    growth,
    ingest,
    knowledge_bases,
    prompts,
    queue,
    rate_limits,
    reconcile,
    search,
    vector_views,
)

for benchmark in (
    ingest, commit, queue, search, growth, knowledge_bases, rate_limits, embedding_cache, prompts, reconcile,
    declaring, vector_views,
):  # fmt: skip
    benchmark.main(["--short", *(sys.argv[1:] if benchmark is ingest else [])])
