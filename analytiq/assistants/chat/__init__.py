"""Conversations with knowledge bases: search, answer from what was found, cite it.

`answering` asks the model and searches for it; `live` keeps an answer going while its readers come and go; `events`
tells readers what is new; `citing` and `prompting` decide, and are pure.

An answer is made by a task of the process that was asked, which outlives the connection that asked. It writes the
answer so far into its row several times a second: a reader in the same process is told at once, one in another process
reads the row. Where a reader is, is two numbers, so that it goes on from there in whatever process.
"""
