"""Conversations with knowledge bases: search, answer from the passages found, cite them.

`answering` makes an answer with the engine, and `recorder` writes it into a draft. `live` keeps an answer running while
readers come and go, and `events` tells readers the news. `citing`, `marks` and `prompting` are pure.

A task of the process that was asked makes the answer, and outlives the asking connection. The task writes the answer so
far into its row several times a second. Readers in the same process are notified at once; readers in other processes
poll the row. A reader's position is two numbers, so that any process can resume it.
"""
