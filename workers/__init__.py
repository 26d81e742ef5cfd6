"""The worker process: runs jobs."""
