"""The loop of a model that calls tools, shared by conversations and by runs of prompts.

`loop` makes the moves of a conversation: ask the model, make its tool calls, until it answers. `search_tool` bounds
the model's searches, `passages` numbers and bounds the passages sent to it, `budget` limits its tokens. A recorder
decides the next move and stores each outcome: `chat.recorder` in a live draft, `prompts.recorder` in durable steps.

                    ┌──────────── passages, numbered to be cited ─────────────┐
    opening ──▶ ask the model ──▶ it calls tools (not in the last round) ──▶ search
                    │
                    └──▶ it answers ──▶ the recorder accepts ──▶ done
                              ▲              └──▶ it corrects the model once, else fails
                              └────────────────────┘
"""
