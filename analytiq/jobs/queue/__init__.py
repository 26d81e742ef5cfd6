"""The queue: jobs enqueued in the transaction of the change that requires them.

States of a job row, whose id is its deduplication key:

                 enqueue (wanted += 1)
                      │
                      ▼            claim (served = wanted, attempt += 1, lease)
    (no row) ───▶ available ─────────────────────────────▶ running ──── finish, wanted = served ───▶ (no row)
                   ▲  ▲  ▲                                 │ │ │ │
                   │  │  └─── finish, wanted > served ─────┘ │ │ │
                   │  └────── retry later, give back, ───────┘ │ │
                   │          lease run out                    │ │
                   └───────── enqueue ◀──── dead ◀─────────────┘ │
                                              ▲    permanent error, attempts exhausted
                                              └── lease run out `max_worker_deaths` times

Several jobs of a partition may be claimed and finished together (`batch_runner`); each has the states above.

A worker owns a job by the token of its lease. Every write of an outcome checks the token, so that a worker
paused for longer than its lease writes nothing. Time in the queue never counts as being stuck.
"""
