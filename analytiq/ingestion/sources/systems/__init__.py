"""The systems that kinds read: their protocols, APIs and texts, a package each."""
