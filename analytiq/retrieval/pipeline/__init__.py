"""The search pipeline: ordered steps that fill in one `SearchContext`.

    resolve     read the knowledge bases, resolve the filter to chunks                          resolve.py
    understand  rewrite the question, imagine an answer (a chat model)                          understand.py
    embed       the question's vector for each embedding model, and the retrievers' weights     embed.py, weights.py
    retrieve    ask the vector and the keyword retriever, side by side                          retrieve.py
    check       drop hits that are no longer members or no longer current                       check.py
    fuse        make one ranking of both                                                        fuse.py
    select      apply the threshold, leave out near-identical passages                          select_hits.py, dedup.py
    rerank      reorder the best by a reranking model                                           rerank.py
    expand      cut the page, add neighbours and highlights                                     expand.py, highlight.py
    compress    quote the sentences that answer (a chat model)                                  compress.py

`search.py` runs them. From retrieve to select they run again, deeper or on a newer index, as `refill.py` decides.
`explain.py` runs the same steps with an observer. A chunk is a `Hit` on its way, and a `SearchResult` in the answer.
"""
