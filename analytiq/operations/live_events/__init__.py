"""Live events: the changes of an organization, from one change stream for all of a process's watchers."""
