"""Upload a document, wait until it can be found, ask a question: python search.py FILE QUESTION."""

import os
import sys
from pathlib import Path
from uuid import uuid4

from analytiq.client import Client, DuplicatePolicy

path, question = Path(sys.argv[1]), sys.argv[2]
url, organization_id, token = (os.environ[f"ANALYTIQ_{name}"] for name in ("URL", "ORGANIZATION_ID", "TOKEN"))

with Client(url, organization_id, token) as client:
    name = f"Python example {uuid4().hex[:8]}"
    tag = client.ensure_tag(name)
    knowledge_base = client.create_knowledge_base(name, tag_ids=[tag.tag_id])

    uploaded = client.upload([path], tag_ids=[tag.tag_id], on_duplicate=DuplicatePolicy.CREATE)
    for document in client.wait_until_indexed([item.document_id for item in uploaded.documents if item.document_id]):
        for failure in document.failures:
            sys.exit(f"{document.document_name}: {failure}")

    for hit in client.search(knowledge_base.kb_id, question, top_k=1).results:
        print(f"{hit.source}, page {hit.first_page}: {hit.content}")
