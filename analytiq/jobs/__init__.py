"""Background work that outlives a request: the queue, its workers and the scheduler."""
