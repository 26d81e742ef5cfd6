"""Operations on tags."""

from analytiq.client.calls import all_items, delete, first, get, given, post, put
from analytiq.client.errors import ProblemError
from analytiq.client.models import Tag
from analytiq.client.operations import Calls, listing, operation
from analytiq.client.paths import segment
from analytiq.client.steps import Flow, Items


class TagCalls(Calls):
    """Tags."""

    @listing
    def tags(self, *, name_search: str | None = None, sort: str | None = None) -> Items[Tag]:
        """Yield all tags, by name; `sort` `-name`: in descending order."""
        return all_items("/tags", "tags", Tag, {"name_search": name_search, "sort": sort})

    @operation
    def tag(self, tag_id: str) -> Flow[Tag]:
        """Return a tag."""
        return get(f"/tags/{segment(tag_id)}", Tag)

    @operation
    def create_tag(self, name: str, *, color: str | None = None, description: str = "") -> Flow[Tag]:
        """Create a tag."""
        return post("/tags", Tag, {"name": name, "description": description, **({"color": color} if color else {})})

    @operation
    def update_tag(
        self, tag_id: str, *, name: str | None = None, color: str | None = None, description: str | None = None
    ) -> Flow[Tag]:
        """Change the fields that are not None."""
        return put(f"/tags/{segment(tag_id)}", Tag, given(name=name, color=color, description=description))

    @operation
    def delete_tag(self, tag_id: str, *, detaches_prompts: bool = False) -> Flow[None]:
        """Delete a tag that no document and no knowledge base has.

        Fails with 409 if prompts use it, unless `detaches_prompts`: each of them then gets a version without it.
        """
        return delete(f"/tags/{segment(tag_id)}", {"on_use": "detach" if detaches_prompts else None})

    @operation
    def find_tag(self, name: str) -> Flow[Tag | None]:
        """Find the tag of exactly this name."""
        return first(self.tags(name_search=name), lambda tag: tag.name == name)

    @operation
    def ensure_tag(self, name: str) -> Flow[Tag]:
        """Return the tag of this name; create a missing one."""
        wanted = name.strip()
        found = yield from self.find_tag(wanted)
        if found is not None:
            return found
        try:
            return (yield from self.create_tag(wanted))
        except ProblemError as error:
            # Another client created it a moment ago.
            found = (yield from self.find_tag(wanted)) if error.status == 409 else None
            if found is None:
                raise
            return found
