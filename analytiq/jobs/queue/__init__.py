"""The queue: work that a change implies, enqueued in the transaction of the change.

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

A worker holds a job by the token of its lease; every write of an outcome checks it, so that a worker that was
paused for longer than its lease writes nothing. Waiting is not being stuck: queued time never counts.
"""
