"""From a question to passages: what narrows a search, runs it and explains it (design 2.11)."""
