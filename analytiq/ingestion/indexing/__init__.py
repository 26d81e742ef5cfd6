"""Indexing: bring one pair (knowledge base, document) to its intended state by stage, commit and sweep.

plan.py     decides, from what was read, whether to index, to remove, or neither
sync.py     the job: reads, plans, applies
staging.py  text → chunks → embeddings → vectors that no index entry names yet
projecting.py  rewrites the document's fields in its chunks, for filters of a search server
commit.py   the one transaction that makes them current, or removes them
sync_batches.py  the same for many small documents of one knowledge base; leaves unusual ones to sync.py
batch_staging.py, batch_commit.py  its staging, and its one transaction
sweep.py    deletes the vectors of generations without readers
"""
