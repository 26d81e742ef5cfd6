"""`python -m benchmarks`: the short version of each benchmark, one after the other."""

import sys

from benchmarks import commit, ingest, queue, rate_limits, search

for benchmark in (ingest, commit, queue, search, rate_limits):
    benchmark.main(["--short", *(sys.argv[1:] if benchmark is ingest else [])])
