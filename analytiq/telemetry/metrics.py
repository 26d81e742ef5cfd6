"""Every metric of the product.

Processes on one machine share their counters if PROMETHEUS_MULTIPROC_DIR is set, as `analytiq up` does; otherwise each
process is scraped by itself.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import REGISTRY

from analytiq.errors import InvalidInputError

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

cache_hits = Counter("kb_embedding_cache_hits_total", "Embeddings found in the cache", ["model"])
cache_misses = Counter("kb_embedding_cache_misses_total", "Embeddings not found in the cache", ["model"])
api_calls = Counter("kb_embedding_api_calls_total", "Calls to embedding providers", ["model"])
chunks_indexed = Counter("kb_chunks_indexed_total", "Chunks committed to a knowledge base", ["kb_id"])
indexing_errors = Counter("kb_indexing_errors_total", "Indexing attempts that failed", ["kb_id", "error_type"])
search_results = Histogram(
    "kb_search_results_count", "Results that a search returned", buckets=(0, 1, 2, 5, 10, 20, 50, 100)
)
cache_evictions = Counter("kb_embedding_cache_evictions_total", "Embeddings evicted from the cache", ["reason"])
cache_rows = Gauge(
    "kb_embedding_cache_rows", "Embeddings in the cache, as of its last upkeep", multiprocess_mode="mostrecent"
)
cache_bytes = Gauge(
    "kb_embedding_cache_bytes",
    "Bytes of embeddings in the cache, uncompressed, as of its last upkeep",
    multiprocess_mode="mostrecent",
)
spus_charged = Counter("kb_spu_charged_total", "SPUs charged", ["operation_type"])
queue_depth = Gauge(
    "kb_indexing_queue_depth",
    "Documents waiting in the indexing queue",
    multiprocess_mode="mostrecent",
)
jobs_due = Gauge(
    "kb_jobs_due",
    "Jobs of all kinds that are running or due: the work for workers",
    multiprocess_mode="mostrecent",
)

prompt_runs = Counter("kb_prompt_runs_total", "Runs of prompts that ended", ["status"])
prompt_tokens = Counter("kb_prompt_tokens_total", "Tokens that runs of prompts sent and received", ["direction"])
drift_found = Counter(
    "kb_reconcile_drift_total", "Differences between stored and intended state that passes found", ["kind"]
)
repairs = Counter("kb_reconcile_repairs_total", "Repairs that the reconciler requested or made")
pass_seconds = Histogram(
    "kb_reconcile_pass_seconds",
    "Duration of a pass of the reconciler",
    ["depth"],
    buckets=(0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600),
)


_names_tenants = False


def name_tenants(is_wanted: bool) -> None:  # noqa: FBT001  # a setting
    """Label this process's metrics with the ids of tenants' knowledge bases, or with nothing."""
    global _names_tenants  # one for the process, like the metrics
    _names_tenants = is_wanted


def label_of(kb_id: str) -> str:
    """Return the label of a knowledge base: its id if tenants are named, else an empty string."""
    return kb_id if _names_tenants else ""


_ALL = (
    cache_hits, cache_misses, api_calls, chunks_indexed, indexing_errors, search_results, spus_charged, queue_depth,
    jobs_due, drift_found, repairs, pass_seconds,
    cache_evictions, cache_rows, cache_bytes,
)  # fmt: skip


def serve(host: str, port: int | None) -> None:
    """Serve `/metrics` from a thread with this process's metrics, if a port is given.

    Raises:
        InvalidInputError: the port is not available.
    """
    if port is None:
        return
    try:
        start_http_server(port, addr=host)
    except OSError as error:
        raise InvalidInputError(
            f"Metrics cannot be served on {host}:{port} ({error.strerror}). Set"
            " ANALYTIQ_TELEMETRY__METRICS_PORT to a free port, one for each process.",
            code="metrics_port_taken",
        ) from error


def exposition(multiprocess_directory: str | None) -> bytes:
    """Return the metrics in Prometheus' text format, of all processes that share the directory if one is given.

    Metrics without a count are listed too, so that a dashboard made on the first day finds all.
    """
    registry = REGISTRY
    if multiprocess_directory is not None:
        registry = CollectorRegistry()
        MultiProcessCollector(registry, path=multiprocess_directory)
    text = generate_latest(registry)
    described = [family for metric in _ALL for family in metric.describe()]
    for family in described:
        name = f"{family.name}_total" if family.type == "counter" else family.name
        if f"# TYPE {name} ".encode() not in text:
            text += f"# HELP {name} {family.documentation}\n# TYPE {name} {family.type}\n".encode()
    return text
