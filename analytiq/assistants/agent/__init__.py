"""The loop of a prompt's run: ask the model, do what it asks for, until it answers (seed 004, "Agentic Loop").

`plan` decides the next move from what was recorded, and is pure; `loop` makes the moves and records each; `search_tool`
bounds what a model may search; `running` is the job.

                    ┌────────────── results, numbered to be cited ─────────────┐
    opening ──▶ ask the model ──▶ it calls tools (not in the last round) ──▶ search
                    │
                    └──▶ it answers ──▶ by the schema? ──yes──▶ done
                              ▲                └──no──▶ told once what is wrong, else failed
                              └────────────────────────────────┘
"""
