#!/bin/sh
# Ask a knowledge base, and print the answer as it comes: sh chat.sh KB_ID QUESTION [MODEL]
set -eu
api=$ANALYTIQ_URL/v0/orgs/$ANALYTIQ_ORGANIZATION_ID/chat/threads

call() {
  curl --silent --show-error --no-buffer -H "Authorization: Bearer $ANALYTIQ_TOKEN" "$@"
}
post() { # path, then name and value of each field
  url=$api$1
  shift
  python3 -c 'import json, sys; a = sys.argv[1:]; print(json.dumps(dict(zip(a[::2], map(json.loads, a[1::2])))))' "$@" |
    call -H "Content-Type: application/json" --data-binary @- "$url"
}
text() { # a text as JSON
  python3 -c "import json, sys; print(json.dumps(sys.argv[1]))" "$1"
}
field() { # an expression on the answer, which is called `it`; problem details end the script
  python3 -c "import json, sys; it = json.load(sys.stdin); 'code' in it and sys.exit(it['detail']); print($1)"
}

model=null
if [ $# -gt 2 ]; then model=$(text "$3"); fi
thread_id=$(post "" kb_ids "[$(text "$1")]" model "$model" | field "it['thread_id']")
events=$(post "/$thread_id/messages" content "$(text "$2")" | field "it['events_path']")

# Server-sent events: `event:` names what `data:` holds as JSON.
call "$ANALYTIQ_URL$events" | python3 -c '
import json, sys
name = ""
for line in sys.stdin:
    field, _, value = line.rstrip("\n").partition(": ")
    if field == "event":
        name = value
    elif field == "data" and name == "token":
        print(json.loads(value)["text"], end="", flush=True)
    elif field == "data" and name == "done":
        answer = json.loads(value)
        print()
        for citation in answer["citations"]:
            print("[{number}] {source}, page {page}: {quote}".format(**citation))
        sys.exit(answer["error"]["detail"] if answer["error"] else 0)
'
