"""Uploads, multipart or JSON, with a result for each file, so that none is lost silently."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue, SecretStr, TypeAdapter, ValidationError

from analytiq.composition import Services
from analytiq.errors import AnalytiqError, FieldError, InvalidInputError, LimitExceededError
from analytiq.ingestion.documents.metadata import validated_metadata
from analytiq.ingestion.documents.naming import (
    last_component,
    validated_name,
    validated_origin,
    validated_path,
    validated_source_url,
)
from analytiq.ingestion.documents.passwords import lacks_password
from analytiq.ingestion.upload.store import StagedFile
from analytiq.models.document import ExternalIdentity
from analytiq.models.organization import Organization
from analytiq.models.upload import DuplicatePolicy, UploadOutcome
from api.field_path import field_path, reason_of
from api.multipart import FieldPart, FilePart
from api.schemas.documents import (
    DocumentResponse,
    DocumentUpload,
    DocumentUploads,
    ExternalIdentityBody,
    UploadAnswer,
    UploadedDocument,
    UploadError,
)

FILE_FIELDS = ("files", "file")
OCTET_STREAM = "application/octet-stream"

_METADATA = TypeAdapter(dict[str, JsonValue])
_TAG_IDS = TypeAdapter(list[str])


@dataclass(slots=True)
class Form:
    """The fields of a multipart upload, before or after the files."""

    tag_ids: list[str] | None = None
    metadata: dict[str, JsonValue] | None = None
    on_duplicate: DuplicatePolicy = DuplicatePolicy.RETURN
    paths: list[str] = field(default_factory=list[str])
    merge: bool = False
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
                self.tag_ids = [*(self.tag_ids or []), *_tag_ids(value)]
            case "metadata":
                try:
                    self.metadata = _METADATA.validate_json(value or "{}")
                except ValidationError as error:
                    raise InvalidInputError.of_field("metadata", "Must be a JSON object.") from error
            case "on_duplicate":
                try:
                    self.on_duplicate = DuplicatePolicy(value)
                except ValueError as error:
                    raise InvalidInputError.of_field(
                        "on_duplicate", f"{value!r} is not allowed. Allowed: return, create, replace."
                    ) from error
            case "paths":
                self.paths.append(value and validated_path(value, field=f"paths[{len(self.paths)}]"))
            case "merge":
                if value not in ("true", "false"):
                    raise InvalidInputError.of_field("merge", f"{value!r} is neither true nor false.")
                self.merge = value == "true"
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
                    "files, paths, tag_ids, metadata, on_duplicate, merge, origin, password, external_identities and"
                    " source_urls"
                )
                raise InvalidInputError.of_field(name, f"Unknown field. Allowed: {known}.")

    def path_of(self, index: int) -> str | None:
        """Return the file's path, if known already."""
        return self.paths[index] or None if index < len(self.paths) else None

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


def _external_identity(value: str, index: int) -> ExternalIdentity | None:
    """Parse a file's external identity; empty for a file without."""
    if not value:
        return None
    try:
        return ExternalIdentityBody.model_validate_json(value).to_model()
    except ValidationError as error:
        raise _invalid_json(error, within=f"external_identities[{index}]") from error


def _tag_ids(value: str) -> list[str]:
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


@dataclass(slots=True)
class _Received:
    """A received file: staged, or its error."""

    file_name: str
    staged: StagedFile | None = None
    error: AnalytiqError | None = None
    tag_ids: list[str] | None = None
    metadata: dict[str, JsonValue] | None = None
    path: str | None = None
    external_identity: ExternalIdentity | None = None
    password: SecretStr | None = None
    source_url: str | None = None


@dataclass(slots=True)
class UploadSession:
    """An upload request: receives files, then commits each."""

    services: Services
    organization: Organization
    request_id: str
    received: list[_Received] = field(default_factory=list[_Received])

    async def receive_multipart(self, parts: AsyncIterator[FilePart | FieldPart]) -> UploadAnswer:
        """Stage the files while they stream in, then commit them with the form's fields."""
        form = Form()
        try:
            async for part in parts:
                if isinstance(part, FieldPart):
                    form.take(part.name, part.value)
                elif part.field in FILE_FIELDS:
                    self._require_number(len(self.received) + 1)
                    index = len(self.received)
                    item = _Received(form.path_of(index) or part.filename)
                    item.external_identity = form.external_identity_of(index)
                    await self._stage(item, part.content_type or OCTET_STREAM, part.stream)
                else:
                    raise InvalidInputError.of_field(part.field, "Unknown file field. Send files in the field `files`.")
            if not self.received:
                raise InvalidInputError.of_field("files", "No file was sent.")
            form.require_one_for_each(len(self.received))
            tag_ids = form.tag_ids
            if tag_ids is not None:
                tag_ids = await self.services.ingestion.tags.require(self.organization.id, tag_ids)
        except BaseException:
            await self._discard()
            raise
        for index, item in enumerate(self.received):
            item.tag_ids, item.metadata, item.path = tag_ids, form.metadata, form.path_of(index)
            item.external_identity, item.password = form.external_identity_of(index), form.password
            item.source_url = form.source_url_of(index)
        return await self._commit(Manner(form.on_duplicate, merges=form.merge, origin=form.origin))

    async def receive_json(self, body: bytes) -> UploadAnswer:
        """Stage the files of a JSON upload, then commit them."""
        try:
            uploads = DocumentUploads.model_validate_json(body)
        except ValidationError as error:
            raise _invalid_json(error) from error
        self._require_number(len(uploads.documents))
        contents = [
            await self._checked(upload, f"documents[{index}]") for index, upload in enumerate(uploads.documents)
        ]
        try:
            for upload, content in zip(uploads.documents, contents, strict=True):
                identity = upload.external_identity
                item = _Received(
                    upload.path or last_component(upload.name or ""),
                    tag_ids=upload.tag_ids,
                    metadata=upload.metadata,
                    external_identity=None if identity is None else identity.to_model(),
                    password=upload.password,
                    source_url=upload.source_url,
                )
                await self._stage(item, upload.content_type or OCTET_STREAM, _once(content))
        except BaseException:
            await self._discard()
            raise
        origin = uploads.origin and validated_origin(uploads.origin)
        return await self._commit(Manner(uploads.on_duplicate, merges=uploads.merge, origin=origin))

    def _require_number(self, files: int) -> None:
        most = self.services.settings.api.max_files_per_upload
        if files > most:
            raise LimitExceededError(f"An upload can have at most {most:,} files. Send several uploads.")

    async def _checked(self, upload: DocumentUpload, place: str) -> bytes:
        """Decode a file of a JSON upload after validating its fields."""
        try:
            if upload.path is not None:
                validated_path(upload.path)
            elif upload.name is None:
                raise InvalidInputError.of_field("name", "Missing. Give a name, or a path.")
            else:
                validated_name(last_component(upload.name), field="name")
            if upload.metadata:
                await self.services.ingestion.metadata_fields.fitted(
                    self.organization.id, validated_metadata(upload.metadata)
                )
            if upload.tag_ids is not None:
                await self.services.ingestion.tags.require(self.organization.id, upload.tag_ids)
            if upload.source_url is not None:
                validated_source_url(upload.source_url)
            return upload.decoded("content")
        except InvalidInputError as error:
            fields = [FieldError(f"{place}.{item.field}", item.reason) for item in error.errors]
            raise InvalidInputError(f"{place}: {error.detail}", errors=fields, code=error.code) from error

    async def _stage(self, item: _Received, content_type: str, source: AsyncIterator[bytes]) -> None:
        try:
            item.staged = await self.services.ingestion.uploads.stage(
                self.organization.id,
                document_name=item.file_name,
                content_type=content_type,
                source=source,
                external_identity=item.external_identity,
            )
        except AnalytiqError as error:
            item.error = error
        self.received.append(item)

    async def _commit(self, manner: Manner) -> UploadAnswer:
        answers = [await self._commit_one(item, manner) for item in self.received]
        failed = [item for item in self.received if item.error]
        if len(failed) == len(self.received) and failed[0].error is not None:
            raise failed[0].error
        counts = {outcome: sum(answer.outcome == outcome for answer in answers) for outcome in _OUTCOMES}
        return UploadAnswer(documents=answers, **counts)

    async def _commit_one(self, item: _Received, manner: Manner) -> UploadedDocument:
        passwords = self.services.ingestion.passwords
        if item.staged is not None:
            try:
                result = await self.services.ingestion.uploads.commit(
                    item.staged,
                    tag_ids=None if item.tag_ids is None else list(dict.fromkeys(item.tag_ids)),
                    metadata=item.metadata,
                    policy=manner.policy,
                    merges=manner.merges,
                    path=item.path,
                    origin=manner.origin,
                    external_identity=item.external_identity,
                    password=None if item.password is None else passwords.sealed(item.password),
                    source_url=item.source_url,
                    request_id=self.request_id,
                )
                document = result.document
                if result.outcome is UploadOutcome.RETURNED and item.password and lacks_password(document):
                    document = await passwords.give(
                        document.organization_id, document.id, item.password, request_id=self.request_id
                    )
                return UploadedDocument(
                    file_name=item.file_name,
                    outcome=result.outcome.value,
                    document_id=document.id,
                    document=DocumentResponse.from_model(document),
                    error=None,
                )
            except AnalytiqError as error:
                item.error = error
                await self.services.ingestion.uploads.discard(item.staged)
        assert item.error is not None  # noqa: S101  # what was not staged has an error
        problem = UploadError(code=item.error.code, detail=item.error.detail)
        return UploadedDocument(
            file_name=item.file_name, outcome="failed", document_id=None, document=None, error=problem
        )

    async def _discard(self) -> None:
        for item in self.received:
            if item.staged is not None:
                await self.services.ingestion.uploads.discard(item.staged)


_OUTCOMES = (*(outcome.value for outcome in UploadOutcome), "failed")


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _invalid_json(error: ValidationError, *, within: str | None = None) -> InvalidInputError:
    place = () if within is None else (within,)
    fields: Sequence[FieldError] = [
        FieldError(field_path((*place, *item["loc"])), reason_of(item["type"], item["msg"])) for item in error.errors()
    ]
    named = "; ".join(f"{item.field}: {item.reason.rstrip('.')}" for item in fields[:5])
    return InvalidInputError(f"{named}.", errors=fields)
