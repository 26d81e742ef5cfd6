"""Settings of the processes: database, API, queue, workers, reconciler, events and telemetry."""

from pathlib import Path

from pydantic import Field, SecretStr

from analytiq.settings.section import MEBIBYTE, Section


class MongoSettings(Section):
    """The database. Without a `uri` the embedded server is used, if the process may start one."""

    uri: SecretStr | None = None
    database: str = "analytiq"
    embedded_cache_bytes: int = 256 * MEBIBYTE


class ApiSettings(Section):
    """The REST API process."""

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    max_upload_bytes: int = 200 * MEBIBYTE
    max_files_per_upload: int = 1000
    max_json_bytes: int = 64 * MEBIBYTE
    head_wait_seconds: float = Field(default=20.0, gt=0)
    """Seconds to wait for a request's head."""
    body_wait_seconds: float = Field(default=30.0, gt=0)
    """Seconds to wait for the next part of a body, and for all of it beyond its time at 1 KiB per second."""
    public_url: str | None = None
    """Address for people, the beginning of links in mails. With https, cookies are sent over TLS only."""


class WorkerSettings(Section):
    """The job runner."""

    concurrency: int = Field(default=4, ge=1, le=256)
    drain_seconds: float = 20.0


class QueueSettings(Section):
    """Leases: another worker resumes a job `lease_seconds` after a dead worker's last heartbeat."""

    lease_seconds: float = Field(default=30.0, ge=0.2)
    poll_seconds: float = 2.0
    max_attempts: int = Field(default=12, ge=1)
    """12 attempts take about 15 minutes: provider outages last longer than network outages."""
    max_worker_deaths: int = Field(default=4, ge=1)
    batch_size: int = Field(default=32, ge=1, le=64)
    """Most small jobs of one kind and knowledge base that a worker does together; 1: each by itself."""
    extractions_per_organization: int | None = Field(default=None, ge=1)
    """Most documents of one organization that a worker reads at once; None: all slots, its share while others wait."""


class SourceSettings(Section):
    """Sources, whose items become documents by themselves."""

    folders: tuple[Path, ...] = ()
    """Directories of the workers' machines that folder sources may read, with all below them; empty: none.

    `{organization_id}` in a path stands for the id of the source's organization.
    """
    private_hosts: tuple[str, ...] = ()
    """Names or addresses of hosts that web sources may read although their addresses are not public."""
    browser: Path | None = None
    """The Chromium that opens pages made by JavaScript; None: the one of PATH. Needs the extra `browser`."""
    browser_sandbox: bool = True
    """Use Chromium's own sandbox. It does not start as root: run workers as another user, or set it to false where the
    worker has a container of its own."""
    max_items: int = Field(default=100_000, ge=1)
    """Most items of one source."""
    full_interval_seconds: float = Field(default=7 * 24 * 3600.0, gt=0)
    """Seconds after which a source that tells its changes is listed whole again."""
    call_seconds: float = Field(default=120.0, gt=0)
    """Longest wait for one batch of a listing, or for one item."""
    max_push_bytes: int = Field(default=16 * 1024 * 1024, ge=1024)
    """Most bytes of a request to an inbound address; it is held in memory, since its signature covers all of it."""
    probe_seconds: float = Field(default=30.0, gt=0)
    """Longest wait for a batch in a usual slot. A source that takes longer goes on in the slot for slow sources, of
    which each worker has one, and may take `call_seconds` there."""
    turn_seconds: float = Field(default=15.0, gt=0)
    """Seconds after which a run gives its slot back, and queues again behind other work."""


class WebhookSettings(Section):
    """Events that are sent to addresses of organizations."""

    private_hosts: tuple[str, ...] = ()
    """Names or addresses of hosts that may receive events although their addresses are not public."""
    attempt_seconds: float = Field(default=15.0, gt=0, le=40)
    """Longest time of one request, with its answer."""
    first_retry_seconds: float = Field(default=5.0, gt=0)
    """Seconds until the second attempt, with jitter; each further one waits three times as long, at most 4 hours."""
    given_up_after_days: float = Field(default=3.0, gt=0, le=30)
    """Days after which a delivery is no longer tried. It can be replayed while it is kept."""
    kept_days: float = Field(default=14.0, gt=0, le=365)
    """Days for which delivered and given up events stay listed."""
    concurrency: int = Field(default=32, ge=2, le=1000)
    """Endpoints that a worker delivers to at once; failing ones use half of them at most."""


class ReconcilerSettings(Section):
    """The daemon that repairs drift."""

    is_enabled: bool = True
    """Run passes automatically; requested ones always run."""
    interval_seconds: float = Field(default=300.0, gt=0)
    full_interval_seconds: float = Field(default=24 * 3600.0, gt=0)
    orphan_grace_seconds: float = 3600.0
    lease_seconds: float = Field(default=30.0, ge=0.5)
    """Seconds after which another reconciler takes over from a dead leader."""
    report_days: int = Field(default=14, ge=1, le=365)


class ErasureSettings(Section):
    """Erasing an organization."""

    quiet_seconds: float = Field(default=90.0, ge=0.0)
    """Seconds for running work to notice the erasure and end, before the proof counts."""


class WatchingSettings(Section):
    """Server-sent events of an organization's changes."""

    max_connections: int = Field(default=100, ge=1)
    """Connections of one organization to one process; a browser needs one, however many pages it shows."""


class TelemetrySettings(Section):
    """Traces, off without an address; metrics of processes that serve no requests."""

    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = Field(default=None, ge=1, le=65535)
    """Port of `/metrics` in a worker or the reconciler; None: not served. The API serves it on its own port."""
    metrics_token: SecretStr | None = None
    """Content of `Authorization: Bearer …` for the API's `/metrics`; None: only callers on this machine may read it."""
    metrics_name_tenants: bool = False
    """Label metrics with the ids of organizations' knowledge bases."""

    otlp_endpoint: str | None = None
    """Address of an OpenTelemetry collector, OTLP over HTTP: `http://localhost:4318/v1/traces`."""
    sample_ratio: float = Field(default=1.0, ge=0.0, le=1.0)
    continues_callers: bool = False
    """Continue a request's `traceparent` and its sampling decision: only if no stranger reaches the API."""
