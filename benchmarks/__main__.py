"""`python -m benchmarks`: the short version of each benchmark, one after the other."""

import sys

from benchmarks import commit, ingest, queue, search

for benchmark in (ingest, commit, queue, search):
    benchmark.main(["--short", *(sys.argv[1:] if benchmark is ingest else [])])
