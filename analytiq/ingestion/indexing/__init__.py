"""Indexing: bring one pair (knowledge base, document) to its intended state by stage, commit and sweep.

plan.py     decides, from what was read, whether to index, to remove, or neither
sync.py     the job: reads, plans, applies
staging.py  text → chunks → embeddings → vectors that nothing points at yet
projecting.py  writes anew what chunks carry of their document, where a search server filters them
commit.py   the one transaction that makes them current, or takes them out
sweep.py    deletes the vectors of generations that nobody reads any more
"""
