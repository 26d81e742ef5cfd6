"""Run work that outlives a request: the queue and its workers."""
