"""Names of tags: models name tags as people do, and the API by id."""

from typing import Any

from pydantic import TypeAdapter

from analytiq.mcp_server.rest import RestApi

PAGE_SIZE = 100
"""The API's largest page."""
_OBJECT = TypeAdapter(dict[str, Any])


async def tag_names(api: RestApi) -> dict[str, str]:
    """Return the names of all tags by id."""
    names: dict[str, str] = {}
    while True:
        answer = _OBJECT.validate_json(await api.get("/tags", skip=len(names), limit=PAGE_SIZE))
        names |= {item["tag_id"]: item["name"] for item in answer["tags"]}
        if not answer["tags"] or len(names) >= answer["total_count"]:
            return names
