"""The worker process, which runs jobs."""
