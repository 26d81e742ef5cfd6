"""One vector library or store on one collection, in its own process and environment: prints one line of JSON.

    python -m benchmarks.vector_peers NAME COLLECTION.npz DIRECTORY

Started by `python -m benchmarks.vectors --peers PYTHON`. A peer is a function that builds and returns its search, which
returns the numbers of the ten nearest rows; `name` is that of a filter. Filters are on a number in each row,
except for libraries that take a set of rows, which is built beforehand. A plain product of matrix and question
runs in the same process, question by question, so that other load on the machine affects both.
"""

# The peers are installed in an environment of their own, and most have no types.
# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false

import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.vector_collections import CHUNKS_PER_DOCUMENT, SHARES, TOP_K, Collection, recall

BATCH = 5000

Search = Callable[[Any, str], Sequence[int]]


def numpy_product(collection: Collection, directory: Path) -> Search:
    """Build a scan in float32 of every row, or of the gathered rows of a filter."""
    rows = {name: collection.rows_in(name) for name in SHARES}

    def search(question: Any, name: str) -> Sequence[int]:
        if name == "all":
            return _best(collection.vectors @ question).tolist()
        return rows[name][_best(np.take(collection.vectors, rows[name], axis=0) @ question)].tolist()

    return search


def faiss_index(collection: Collection, directory: Path, *, kind: str) -> Search:
    """Build an index of the factory's `kind`; filters as bitmaps."""
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.index_factory(collection.vectors.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
    is_graph = "HNSW" in kind
    if is_graph:
        index.hnsw.efConstruction, index.hnsw.efSearch = 128, 256
    if not index.is_trained:
        index.train(collection.vectors)
    index.add(collection.vectors)
    kept: list[Any] = []
    parameters: dict[str, Any] = {"all": None}
    for name in list(SHARES)[1:]:
        mask = np.zeros(len(collection.vectors), dtype=np.bool_)
        mask[collection.rows_in(name)] = True
        bits = np.packbits(mask, bitorder="little")
        selector = faiss.IDSelectorBitmap(len(mask), faiss.swig_ptr(bits))
        kept += [bits, selector]
        if is_graph:
            parameters[name] = faiss.SearchParametersHNSW(sel=selector, efSearch=256)
        else:
            parameters[name] = faiss.SearchParameters(sel=selector)

    def search(question: Any, name: str) -> Sequence[int]:
        _, rows = index.search(question[np.newaxis], TOP_K, params=parameters[name])
        return rows[0].tolist() if kept else []

    return search


def usearch_graph(collection: Collection, directory: Path) -> Search:
    """Build an HNSW graph of float16, without filters."""
    from usearch.index import Index

    dimensions = collection.vectors.shape[1]
    index = Index(ndim=dimensions, metric="ip", dtype="f16", connectivity=16, expansion_add=128, expansion_search=256)
    index.add(np.arange(len(collection.vectors)), collection.vectors, threads=1)
    return lambda question, name: index.search(question, TOP_K, threads=1).keys.tolist()


def hnswlib_graph(collection: Collection, directory: Path) -> Search:
    """Build an HNSW graph of float32; filters as a callable."""
    import hnswlib

    index = hnswlib.Index(space="ip", dim=collection.vectors.shape[1])
    index.init_index(len(collection.vectors), ef_construction=128, M=16)
    index.set_num_threads(1)
    index.add_items(collection.vectors, num_threads=1)
    index.set_ef(256)
    rows = {name: set(collection.rows_in(name).tolist()) for name in SHARES}

    def search(question: Any, name: str) -> Sequence[int]:
        options = {} if name == "all" else {"filter": rows[name].__contains__}
        found, _ = index.knn_query(question, TOP_K, num_threads=1, **options)
        return found[0].tolist()

    return search


def chroma(collection: Collection, directory: Path) -> Search:
    """Build a persistent client with its defaults, cosine."""
    import chromadb

    client = chromadb.PersistentClient(str(directory), chromadb.Settings(anonymized_telemetry=False))
    stored = client.create_collection("collection", metadata={"hnsw:space": "cosine"})
    ranks = _ranks(collection)
    for start in range(0, len(ranks), BATCH):
        rows = range(start, min(start + BATCH, len(ranks)))
        stored.add(
            ids=[str(row) for row in rows],
            embeddings=collection.vectors[start : start + BATCH],
            metadatas=[{"rank": ranks[row]} for row in rows],
        )

    def search(question: Any, name: str) -> Sequence[int]:
        where = None if name == "all" else {"rank": {"$lt": SHARES[name]}}
        found = stored.query(query_embeddings=[question], n_results=TOP_K, where=where, include=[])
        return [int(row) for row in found["ids"][0]]

    return search


def lance(collection: Collection, directory: Path, *, has_index: bool) -> Search:
    """Build a table without a vector index, or with IVF_HNSW_SQ; a scalar index on the filter's column in both."""
    import lancedb
    import pyarrow

    ranks, dimensions = _ranks(collection), collection.vectors.shape[1]
    flat = pyarrow.array(collection.vectors.reshape(-1), pyarrow.float32())
    vectors = pyarrow.FixedSizeListArray.from_arrays(flat, dimensions)
    rows = pyarrow.table({"row": np.arange(len(ranks)), "rank": ranks, "vector": vectors})
    table = lancedb.connect(str(directory)).create_table("c", rows)
    table.create_scalar_index("rank")
    if has_index:
        table.create_index(metric="cosine", vector_column_name="vector", index_type="IVF_HNSW_SQ")

    def search(question: Any, name: str) -> Sequence[int]:
        query = table.search(question).distance_type("cosine").limit(TOP_K).select(["row", "_distance"])
        if has_index:
            query = query.ef(200).refine_factor(5)
        if name != "all":
            query = query.where(f"rank < {SHARES[name]}", prefilter=True)
        return query.to_arrow()["row"].to_pylist()

    return search


def qdrant_local(collection: Collection, directory: Path) -> Search:
    """Build a client in local mode, in memory."""
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    dimensions = collection.vectors.shape[1]
    client.create_collection("c", vectors_config=models.VectorParams(size=dimensions, distance=models.Distance.COSINE))
    ranks = _ranks(collection)
    for start in range(0, len(ranks), BATCH):
        ids = list(range(start, min(start + BATCH, len(ranks))))
        payloads = [{"rank": ranks[row]} for row in ids]
        vectors = collection.vectors[start : start + BATCH].tolist()
        client.upsert("c", models.Batch(ids=ids, vectors=vectors, payloads=payloads))

    def search(question: Any, name: str) -> Sequence[int]:
        condition = models.FieldCondition(key="rank", range=models.Range(lt=SHARES[name]))
        wanted = None if name == "all" else models.Filter(must=[condition])
        found = client.query_points("c", query=question.tolist(), limit=TOP_K, query_filter=wanted)
        return [int(point.id) for point in found.points]

    return search


PEERS: dict[str, Callable[[Collection, Path], Search]] = {
    "numpy": numpy_product,
    "faiss Flat": partial(faiss_index, kind="Flat"),
    "faiss SQ8": partial(faiss_index, kind="SQ8"),
    "faiss HNSW": partial(faiss_index, kind="HNSW16,Flat"),
    "usearch HNSW": usearch_graph,
    "hnswlib": hnswlib_graph,
    "chroma": chroma,
    "lance flat": partial(lance, has_index=False),
    "lance IVF_HNSW_SQ": partial(lance, has_index=True),
    "qdrant local": qdrant_local,
}
WITHOUT_FILTERS = {"usearch HNSW"}


def measure(name: str, collection: Collection, directory: Path) -> dict[str, Any]:
    """Build, then ask every question with every filter."""
    before, begin = _resident_bytes(), perf_counter()
    search = PEERS[name](collection, directory)
    answer: dict[str, Any] = {"build_s": perf_counter() - begin, "bytes": _resident_bytes() - before, "filters": {}}
    for share in SHARES:
        if share != "all" and name in WITHOUT_FILTERS:
            continue
        wanted = collection.nearest(share)
        found: list[set[int]] = []
        spent: list[float] = []
        processor: list[float] = []
        plain: list[float] = []
        search(collection.questions[0], share)
        for question in collection.questions:
            begin, begin_processor = perf_counter(), process_time()
            rows = search(question, share)
            spent.append((perf_counter() - begin) * 1000)
            middle_processor = process_time()
            _best(collection.vectors @ question)
            plain.append((process_time() - middle_processor) * 1000)
            processor.append((middle_processor - begin_processor) * 1000)
            found.append({int(row) for row in rows})
            if sum(spent) > 30_000:  # half a minute says enough
                break
        answer["filters"][share] = {
            "ms": spent,
            "processor_ms": processor,
            "numpy_processor_ms": plain,
            "recall": recall(found, wanted[: len(found)]),
        }
    return answer


def _best(scores: Any) -> Any:
    count = min(TOP_K, len(scores))
    best = np.argpartition(-scores, count - 1)[:count]
    return best[np.argsort(-scores[best])]


def _ranks(collection: Collection) -> list[float]:
    return np.repeat(collection.ranks, CHUNKS_PER_DOCUMENT)[: len(collection.vectors)].tolist()


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Measure one peer."""
    name, file, directory = sys.argv[1:]
    with np.load(file) as arrays:
        collection = Collection(arrays["vectors"], arrays["questions"], arrays["ranks"])
    try:
        answer = measure(name, collection, Path(directory))
    except ImportError as error:
        answer = {"missing": str(error)}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
