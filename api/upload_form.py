"""The settings of an upload: fields of a multipart form, of a JSON body, or query parameters."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue, SecretStr, TypeAdapter, ValidationError

from analytiq.errors import FieldError, InvalidInputError
from analytiq.ingestion.documents.naming import validated_origin, validated_path, validated_source_url
from analytiq.models.document import ExternalIdentity
from analytiq.models.upload import DuplicatePolicy
from api.field_path import field_path, reason_of
from api.schemas.documents import ExternalIdentityBody

_METADATA = TypeAdapter(dict[str, JsonValue])
_TAG_IDS = TypeAdapter(list[str])


@dataclass(slots=True)
class Form:
    """The fields of a multipart upload, before or after the files."""

    tag_ids: list[str] | None = None
    metadata: dict[str, JsonValue] | None = None
    on_duplicate: DuplicatePolicy = DuplicatePolicy.RETURN
    paths: list[str | InvalidInputError] = field(default_factory=list[str | InvalidInputError])
    """An error is of its file alone."""
    merge: bool = False
    bulk: bool = False
    origin: str | None = None
    password: SecretStr | None = None
    external_identities: list[ExternalIdentity | None] = field(default_factory=list[ExternalIdentity | None])
    source_urls: list[str] = field(default_factory=list[str])

    def take(self, name: str, value: str) -> None:
        """Read a field.

        Raises:
            InvalidInputError: unknown field or invalid value.
        """
        match name:
            case "tag_ids":
                self.tag_ids = [*(self.tag_ids or []), *read_tag_ids(value)]
            case "metadata":
                self.metadata = read_metadata(value)
            case "on_duplicate":
                try:
                    self.on_duplicate = DuplicatePolicy(value)
                except ValueError as error:
                    raise InvalidInputError.of_field(
                        "on_duplicate", f"{value!r} is not allowed. Allowed: return, create, replace."
                    ) from error
            case "paths":
                self.paths.append(_path_or_error(value, len(self.paths)))
            case "merge":
                self.merge = read_boolean(name, value)
            case "bulk":
                self.bulk = read_boolean(name, value)
            case "origin":
                self.origin = validated_origin(value)
            case "password":
                self.password = SecretStr(value) if value else None
            case "external_identities":
                self.external_identities.append(_external_identity(value, len(self.external_identities)))
            case "source_urls":
                place = f"source_urls[{len(self.source_urls)}]"
                self.source_urls.append(value and validated_source_url(value, field=place))
            case _:
                known = (
                    "files, paths, tag_ids, metadata, on_duplicate, merge, bulk, origin, password,"
                    " external_identities and source_urls"
                )
                raise InvalidInputError.of_field(name, f"Unknown field. Allowed: {known}.")

    def path_of(self, index: int) -> str | None:
        """Return the file's path, if known already.

        Raises:
            InvalidInputError: it is invalid.
        """
        path = self.paths[index] if index < len(self.paths) else None
        if isinstance(path, InvalidInputError):
            raise path
        return path or None

    def external_identity_of(self, index: int) -> ExternalIdentity | None:
        """Return the file's external identity, if known already."""
        return self.external_identities[index] if index < len(self.external_identities) else None

    def source_url_of(self, index: int) -> str | None:
        """Return the web address of the file's original."""
        return self.source_urls[index] or None if index < len(self.source_urls) else None

    def require_one_for_each(self, files: int) -> None:
        """Check that there are as many paths as files, or none; external identities and addresses too.

        Raises:
            InvalidInputError: the numbers differ.
        """
        for name in ("paths", "external_identities", "source_urls"):
            values = getattr(self, name)
            if values and len(values) != files:
                raise InvalidInputError.of_field(
                    name, f"{len(values)} {name} for {files} files. Send one for each file, in their order."
                )


def read_metadata(value: str) -> dict[str, JsonValue]:
    """Read a JSON object; empty for none.

    Raises:
        InvalidInputError: it is no object.
    """
    try:
        return _METADATA.validate_json(value or "{}")
    except ValidationError as error:
        raise InvalidInputError.of_field("metadata", "Must be a JSON object.") from error


def _path_or_error(value: str, index: int) -> str | InvalidInputError:
    try:
        return value and validated_path(value, field=f"paths[{index}]")
    except InvalidInputError as error:
        return error


def read_boolean(name: str, value: str) -> bool:
    """Read a form field.

    Raises:
        InvalidInputError: it is neither true nor false.
    """
    if value not in ("true", "false"):
        raise InvalidInputError.of_field(name, f"{value!r} is neither true nor false.")
    return value == "true"


def _external_identity(value: str, index: int) -> ExternalIdentity | None:
    """Parse a file's external identity; empty for a file without."""
    if not value:
        return None
    try:
        return ExternalIdentityBody.model_validate_json(value).to_model()
    except ValidationError as error:
        raise invalid_json(error, within=f"external_identities[{index}]") from error


def read_tag_ids(value: str) -> list[str]:
    """Parse one id, comma-separated ids, or a JSON list; the field may be repeated."""
    text = value.strip()
    if text.startswith("["):
        try:
            return _TAG_IDS.validate_json(text)
        except ValidationError as error:
            raise InvalidInputError.of_field("tag_ids", "Must be ids, or a JSON list of ids.") from error
    return [part.strip() for part in text.split(",") if part.strip()]


@dataclass(frozen=True, slots=True)
class Manner:
    """Settings shared by all files of an upload; see `Uploads.commit`."""

    policy: DuplicatePolicy
    merges: bool
    origin: str | None
    is_bulk: bool = False
    """The client says that the files are some of many."""


def invalid_json(error: ValidationError, *, within: str | None = None) -> InvalidInputError:
    """Return the error for a JSON body, with a reason for each field."""
    place = () if within is None else (within,)
    fields: Sequence[FieldError] = [
        FieldError(field_path((*place, *item["loc"])), reason_of(item["type"], item["msg"])) for item in error.errors()
    ]
    named = "; ".join(f"{item.field}: {item.reason.rstrip('.')}" for item in fields[:5])
    return InvalidInputError(f"{named}.", errors=fields)


@dataclass(frozen=True, slots=True)
class StreamQuery:
    """Query parameters of uploads whose body has no fields: NDJSON and ZIP."""

    on_duplicate: DuplicatePolicy | None
    merge: bool | None
    bulk: bool | None
    origin: str | None
    tag_ids: str | None
    metadata: str | None

    def require_none(self) -> None:
        """Check that no parameter is given.

        Raises:
            InvalidInputError: names the first one.
        """
        for name in ("on_duplicate", "merge", "bulk", "origin", "tag_ids", "metadata"):
            if getattr(self, name) is not None:
                raise InvalidInputError.of_field(
                    name, "Only for NDJSON and ZIP. Send it as a field of the form, or of the JSON body."
                )

    def manner(self) -> Manner:
        """Return the settings of all files.

        Raises:
            InvalidInputError: the origin is invalid.
        """
        origin = None if self.origin is None else validated_origin(self.origin)
        policy = self.on_duplicate or DuplicatePolicy.RETURN
        return Manner(policy, merges=bool(self.merge), origin=origin, is_bulk=bool(self.bulk))

    def parsed_tag_ids(self) -> list[str] | None:
        """Return the tags, None if not given."""
        return None if self.tag_ids is None else read_tag_ids(self.tag_ids)

    def parsed_metadata(self) -> dict[str, JsonValue] | None:
        """Return the metadata, None if not given.

        Raises:
            InvalidInputError: it is no JSON object.
        """
        return None if self.metadata is None else read_metadata(self.metadata)
