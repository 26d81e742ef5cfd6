"""Ask a knowledge base, and print the answer as it comes: python chat.py KB_ID QUESTION [MODEL]."""

import os
import sys

from analytiq.client import Client

kb_id, question, *model = sys.argv[1:]
url, organization_id, token = (os.environ[f"ANALYTIQ_{name}"] for name in ("URL", "ORGANIZATION_ID", "TOKEN"))

with Client(url, organization_id, token) as client:
    thread = client.create_thread([kb_id], model=model[0] if model else None)
    for event in client.ask(thread.thread_id, question):
        print(event.text, end="", flush=True)
        if event.message is not None:
            print()
            for citation in event.message.citations:
                print(f"[{citation.number}] {citation.source}, page {citation.page}: {citation.quote}")
            if event.message.error is not None:
                sys.exit(event.message.error.detail)
