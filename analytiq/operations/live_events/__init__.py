"""What changes in an organization, told to whoever watches: one change stream for all of a process's watchers."""
