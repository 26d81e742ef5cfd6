"""The loop of a model that calls tools, shared by conversations and by runs of prompts.

`loop` makes the moves of a conversation: ask the model, make its tool calls, until it answers. `search_tool` bounds
what a model may search, `passages` numbers and bounds what it is shown, `budget` keeps its tokens. A recorder decides
the next move and stores what each move brought: `chat.recorder` writes a live draft, `prompts.recorder` durable steps.

                    ┌──────────── passages, numbered to be cited ─────────────┐
    opening ──▶ ask the model ──▶ it calls tools (not in the last round) ──▶ search
                    │
                    └──▶ it answers ──▶ the recorder accepts ──▶ done
                              ▲              └──▶ it corrects the model once, else fails
                              └────────────────────┘
"""
