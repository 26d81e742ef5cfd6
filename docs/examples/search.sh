#!/bin/sh
# Upload a document, wait until it can be found, ask a question: sh search.sh FILE QUESTION
set -eu
file=$1 question=$2
api=$ANALYTIQ_URL/v0/orgs/$ANALYTIQ_ORGANIZATION_ID

call() {
  curl --silent --show-error -H "Authorization: Bearer $ANALYTIQ_TOKEN" "$@"
}
post() { # path, JSON
  call -H "Content-Type: application/json" -d "$2" "$api$1"
}
field() { # an expression on the answer, which is called `it`; problem details end the script
  python3 -c "import json, sys; it = json.load(sys.stdin); 'code' in it and sys.exit(it['detail']); print($1)"
}

tag_id=$(post /tags "{\"name\": \"curl example $$\"}" | field "it['tag_id']")
kb_id=$(post /knowledge-bases "{\"name\": \"curl example $$\", \"tag_ids\": [\"$tag_id\"]}" | field "it['kb_id']")

document_id=$(call -F "files=@$file" -F "tag_ids=$tag_id" -F on_duplicate=create "$api/documents" |
  field "it['documents'][0]['document_id']")

until [ "$(call "$api/documents/$document_id" |
  field "it['error'] or all(kb['state'] == 'indexed' for kb in it['knowledge_bases']) and it['state']")" = extracted ]; do
  sleep 0.2
done

body=$(QUESTION=$question python3 -c "import json, os; print(json.dumps({'query': os.environ['QUESTION'], 'top_k': 1}))")
post "/knowledge-bases/$kb_id/search" "$body" |
  field "'\n'.join(f\"{hit['source']}, page {hit['first_page']}: {hit['content']}\" for hit in it['results'])"
