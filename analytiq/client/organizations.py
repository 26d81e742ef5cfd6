"""Operations on the organization: its settings, tokens, usage, storage and metadata fields."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from analytiq.client.administration_models import Erasure
from analytiq.client.calls import all_items, call, delete, get, given, post, put
from analytiq.client.operations import Calls, listing, operation
from analytiq.client.organization_models import (
    AccessToken,
    DailyUsage,
    IssuedAccessToken,
    MetadataDeclaration,
    Organization,
    OrganizationSettings,
    Quota,
    RateLimits,
    Storage,
    Usage,
    Vision,
)
from analytiq.client.paths import segment
from analytiq.client.steps import Flow, Items, Request
from analytiq.client.values import FieldType, MisfitPolicy


class OrganizationCalls(Calls):
    """The token's organization."""

    @operation
    def organization(self) -> Flow[Organization]:
        """Return the token's organization."""
        return get("", Organization)

    @operation
    def update_organization(self, *, name: str | None = None, cache_scope: str | None = None) -> Flow[Organization]:
        """Change the fields that are not None."""
        return put("", Organization, given(name=name, cache_scope=cache_scope))

    @operation
    def set_cache_scope(self, scope: str) -> Flow[Organization]:
        """Share embeddings with other organizations (`global`), or keep them private (`organization`)."""
        return put("", Organization, {"cache_scope": scope})

    @operation
    def delete_organization(
        self, *, confirm: str, ledger: str | None = None, cache: str | None = None
    ) -> Flow[Erasure]:
        """Erase the organization with everything in it.

        Args:
            confirm: the organization's name, to prevent a mistaken erasure.
            ledger: `anonymize` charges (the default), or `delete` them.
            cache: `delete` (the default) or `keep` cached embeddings that it paid for and shares.
        """
        query = {"confirm": confirm, "ledger": ledger, "cache": cache}
        reply = yield from call(Request("DELETE", "", query=query))
        return Erasure.model_validate_json(reply.content)

    @operation
    def usage(
        self, *, since: datetime | None = None, until: datetime | None = None, by_day: bool = False
    ) -> Flow[Usage]:
        """Return SPUs charged within [since, until), and SPUs saved by the cache."""
        return get("/usage", Usage, {**between(since, until), "by_day": by_day or None})

    @operation
    def daily_usage(
        self, *, since: datetime, until: datetime | None = None, group_by: str | None = None, top: int | None = None
    ) -> Flow[DailyUsage]:
        """Return SPUs by day within [since, until).

        Args:
            since: the first moment.
            until: the end; None: now.
            group_by: kb_id (the default), operation or embedding_model.
            top: most groups; the others are summed.
        """
        return get("/usage/days", DailyUsage, {**between(since, until), "group_by": group_by, "top": top})

    @operation
    def quota(self) -> Flow[Quota]:
        """Return the organization's SPU quota and usage."""
        return get("/quota", Quota)

    @operation
    def storage(self) -> Flow[Storage]:
        """Return the organization's storage quota and usage."""
        return get("/storage", Storage)


class AccessTokenCalls(Calls):
    """Access tokens of programs."""

    @operation
    def create_token(
        self, name: str, *, scope: str = "admin", expires_at: datetime | None = None
    ) -> Flow[IssuedAccessToken]:
        """Create an access token; `scope` is `read`, `write`, or `admin` for everything."""
        body = {"name": name, "scope": scope, "expires_at": expires_at and expires_at.isoformat()}
        return post("/access-tokens", IssuedAccessToken, body)

    @listing
    def tokens(self) -> Items[AccessToken]:
        """Yield all access tokens, newest first."""
        return all_items("/access-tokens", "access_tokens", AccessToken)

    @operation
    def take_over_token(self, token_id: str) -> Flow[AccessToken]:
        """Become the maker of an access token, so that it no longer ends with its former maker."""
        return post(f"/access-tokens/{segment(token_id)}/take-over", AccessToken)

    @operation
    def revoke_token(self, token_id: str) -> Flow[None]:
        """Revoke an access token for good."""
        return delete(f"/access-tokens/{segment(token_id)}")


class OrganizationSettingCalls(Calls):
    """OCR languages, rate limits, the vision model, skipped text."""

    @operation
    def settings(self) -> Flow[OrganizationSettings]:
        """Return the organization's settings, the server's, and the available choices."""
        return get("/settings", OrganizationSettings)

    @operation
    def set_ocr_languages(self, languages: Sequence[str] | None) -> Flow[OrganizationSettings]:
        """Set the OCR languages (Tesseract's codes); None: the server's."""
        body = {"ocr_languages": None if languages is None else list(languages)}
        return put("/settings", OrganizationSettings, body)

    @operation
    def set_rate_limits(self, limits: RateLimits | None) -> Flow[OrganizationSettings]:
        """Set limits per minute below the server's; None: the server's."""
        body = {"rate_limits": None if limits is None else limits.model_dump(mode="json")}
        return put("/settings", OrganizationSettings, body)

    @operation
    def set_vision(self, vision: Vision | None) -> Flow[OrganizationSettings]:
        """Set the vision model and its tasks; None: off."""
        body = {"vision": None if vision is None else vision.model_dump(mode="json")}
        return put("/settings", OrganizationSettings, body)

    @operation
    def skip_flawed_text(self, kinds: Sequence[str] | None) -> Flow[OrganizationSettings]:
        """Leave text with flaws of these kinds out of knowledge bases; None: index all text.

        Kinds: `noise`, `misdecoded`, `machine_text` and `visual_order`. Documents with such text are indexed again.
        """
        return put("/settings", OrganizationSettings, {"skipped_flaws": None if kinds is None else list(kinds)})


class MetadataFieldCalls(Calls):
    """The types of documents' metadata."""

    @operation
    def metadata_fields(self) -> Flow[dict[str, FieldType]]:
        """Return the declared fields, by name."""
        return (yield from get("/metadata-fields", MetadataDeclaration)).fields

    @operation
    def declare_metadata_fields(
        self, fields: Mapping[str, FieldType | str], *, on_misfit: MisfitPolicy | str = MisfitPolicy.REFUSE
    ) -> Flow[MetadataDeclaration]:
        """Declare exactly these fields, by name; omitted ones are no longer declared.

        Args:
            fields: name → string, number, boolean or date.
            on_misfit: for values of another type: `refuse` the declaration, or `remove` them from their metadata.

        Raises:
            ProblemError: values do not fit (code `metadata_misfits`, `errors` name documents), or a name is invalid.
        """
        body = {
            "fields": {name: FieldType(kind).value for name, kind in fields.items()},
            "on_misfit": MisfitPolicy(on_misfit).value,
        }
        return put("/metadata-fields", MetadataDeclaration, body)


def between(since: datetime | None, until: datetime | None) -> dict[str, str | None]:
    """Return the query of a period."""
    return {"since": since and since.isoformat(), "until": until and until.isoformat()}
