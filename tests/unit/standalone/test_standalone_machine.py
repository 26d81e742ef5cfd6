from dataclasses import replace

import pytest

from analytiq.settings import EmbeddingSettings, Settings, WorkerSettings
from analytiq.standalone.machine import Capacity, Machine, parse_cpu_quota, plan_capacity, read_machine
from workers.__main__ import with_model_threads

GIBIBYTE = 1024**3


def plan(cores: int, gibibytes: float, *, workers: int | None = None, settings: Settings | None = None) -> Capacity:
    return plan_capacity(Machine(cores, int(gibibytes * GIBIBYTE)), settings or Settings(), workers=workers)


def test_all_cores_of_a_small_machine_are_used_and_one_of_a_larger_one_is_left() -> None:
    assert plan(1, 8) == Capacity(workers=1, slots=2, threads=1)
    assert plan(2, 24) == Capacity(workers=1, slots=4, threads=2)
    assert plan(4, 16) == Capacity(workers=1, slots=6, threads=3)
    assert plan(9, 32) == Capacity(workers=2, slots=8, threads=4)


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 8, 16, 64, 256])
@pytest.mark.parametrize("gibibytes", [0.5, 1, 2, 4, 16, 512])
def test_what_is_planned_fits_cores_and_memory(cores: int, gibibytes: float) -> None:
    planned = plan(cores, gibibytes)
    assert planned.workers >= 1
    assert planned.threads >= 1
    assert planned.slots >= 2
    assert planned.workers * planned.threads <= max(cores, planned.workers)
    if planned.workers > 1:
        assert planned.workers * 2 <= gibibytes
    if planned.slots > 2:
        assert planned.slots * planned.workers * 0.5 <= gibibytes


def test_what_a_person_has_set_is_kept() -> None:
    settings = Settings(worker=WorkerSettings(concurrency=7), embedding=EmbeddingSettings(local_threads=5))
    assert plan(2, 24, workers=3, settings=settings) == Capacity(workers=3, slots=7, threads=5)


def test_sentence_names_what_runs_and_why() -> None:
    machine = Machine(2, 24 * GIBIBYTE)
    one = Capacity(workers=1, slots=4, threads=1)
    assert one.describe(machine) == (
        "Running 1 worker with 4 job slots and 1 model thread, for 2 cores and 24 GiB of memory."
    )
    assert "2 workers with 4 job slots and 1 model thread each" in replace(one, workers=2).describe(machine)


def test_cpu_quota_of_a_container_is_whole_cores() -> None:
    assert parse_cpu_quota("250000 100000") == 2
    assert parse_cpu_quota("50000 100000") == 1
    assert parse_cpu_quota("max 100000") is None
    assert parse_cpu_quota("") is None


def test_this_machine_can_be_read() -> None:
    machine = read_machine()
    assert machine.cores >= 1
    assert machine.memory_bytes > 64 * 1024 * 1024


def test_worker_by_itself_gives_the_local_model_every_core() -> None:
    assert with_model_threads(Settings()).embedding.local_threads == read_machine().cores


def test_worker_keeps_the_chosen_number_of_model_threads() -> None:
    chosen = Settings(embedding=EmbeddingSettings(local_threads=5))
    assert with_model_threads(chosen).embedding.local_threads == 5
