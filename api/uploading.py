"""From an upload's body, multipart or JSON, to documents: every file is told apart, and none is lost silently."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue, TypeAdapter, ValidationError

from analytiq.bootstrap import Application
from analytiq.documents.metadata import validated_metadata
from analytiq.documents.naming import validated_name
from analytiq.errors import AnalytiqError, FieldError, InvalidInputError, LimitExceededError
from analytiq.models.organization import Organization
from analytiq.models.upload import DuplicatePolicy, UploadOutcome
from analytiq.upload.store import StagedFile
from api.field_path import field_path, reason_of
from api.multipart import FieldPart, FilePart
from api.schemas.documents import (
    DocumentResponse,
    DocumentUpload,
    DocumentUploads,
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
    """The fields of a multipart upload, which may come before or after the files."""

    tag_ids: list[str] | None = None
    metadata: dict[str, JsonValue] | None = None
    on_duplicate: DuplicatePolicy = DuplicatePolicy.RETURN

    def take(self, name: str, value: str) -> None:
        """Read one field.

        Raises:
            InvalidInputError: there is no such field, or its value is none.
        """
        match name:
            case "tag_ids":
                self.tag_ids = [*(self.tag_ids or []), *_tag_ids(value)]
            case "metadata":
                try:
                    self.metadata = _METADATA.validate_json(value or "{}")
                except ValidationError as error:
                    raise InvalidInputError.of_field("metadata", "must be a JSON object") from error
            case "on_duplicate":
                try:
                    self.on_duplicate = DuplicatePolicy(value)
                except ValueError as error:
                    raise InvalidInputError.of_field(
                        "on_duplicate", f"{value!r} is none of return, create, replace"
                    ) from error
            case _:
                raise InvalidInputError.of_field(
                    name, "there is no such field; there are files, tag_ids, metadata and on_duplicate"
                )


def _tag_ids(value: str) -> list[str]:
    """One id, ids with commas between them, or a JSON list; the field may come several times."""
    text = value.strip()
    if text.startswith("["):
        try:
            return _TAG_IDS.validate_json(text)
        except ValidationError as error:
            raise InvalidInputError.of_field("tag_ids", "must be ids, or a JSON list of ids") from error
    return [part.strip() for part in text.split(",") if part.strip()]


@dataclass(slots=True)
class _Received:
    """A file as it came: staged, or why not."""

    file_name: str
    staged: StagedFile | None = None
    error: AnalytiqError | None = None
    tag_ids: list[str] | None = None
    metadata: dict[str, JsonValue] | None = None


@dataclass(slots=True)
class UploadSession:
    """One upload request: receives files, then commits each."""

    application: Application
    organization: Organization
    request_id: str
    received: list[_Received] = field(default_factory=list[_Received])

    async def receive_multipart(self, parts: AsyncIterator[FilePart | FieldPart]) -> UploadAnswer:
        """Stage the files as they stream in, then commit them with the form's fields."""
        form = Form()
        try:
            async for part in parts:
                if isinstance(part, FieldPart):
                    form.take(part.name, part.value)
                elif part.field in FILE_FIELDS:
                    self._require_number(len(self.received) + 1)
                    await self._stage(part.filename, part.content_type or OCTET_STREAM, part.stream)
                else:
                    raise InvalidInputError.of_field(part.field, "files are sent in the field `files`")
            if not self.received:
                raise InvalidInputError.of_field("files", "no file was sent")
            tag_ids = form.tag_ids
            if tag_ids is not None:
                tag_ids = await self.application.tags.require(self.organization.id, tag_ids)
        except BaseException:
            await self._discard()
            raise
        for item in self.received:
            item.tag_ids, item.metadata = tag_ids, form.metadata
        return await self._commit(form.on_duplicate)

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
                await self._stage(upload.name, upload.content_type or OCTET_STREAM, _once(content))
                self.received[-1].tag_ids = upload.tag_ids
                self.received[-1].metadata = upload.metadata
        except BaseException:
            await self._discard()
            raise
        return await self._commit(uploads.on_duplicate)

    def _require_number(self, files: int) -> None:
        most = self.application.settings.api.max_files_per_upload
        if files > most:
            raise LimitExceededError(f"an upload has at most {most:,} files; send several")

    async def _checked(self, upload: DocumentUpload, place: str) -> bytes:
        """The content of one file of a JSON upload, once all that is said of it has proved good."""
        try:
            validated_name(upload.name, field="name")
            if upload.metadata:
                await self.application.metadata_fields.fitted(self.organization.id, validated_metadata(upload.metadata))
            if upload.tag_ids is not None:
                await self.application.tags.require(self.organization.id, upload.tag_ids)
            return upload.decoded("content")
        except InvalidInputError as error:
            fields = [FieldError(f"{place}.{item.field}", item.reason) for item in error.errors]
            raise InvalidInputError(f"{place}: {error.detail}", errors=fields, code=error.code) from error

    async def _stage(self, file_name: str, content_type: str, source: AsyncIterator[bytes]) -> None:
        item = _Received(file_name)
        try:
            item.staged = await self.application.uploads.stage(
                self.organization.id, document_name=file_name, content_type=content_type, source=source
            )
        except AnalytiqError as error:
            item.error = error
        self.received.append(item)

    async def _commit(self, policy: DuplicatePolicy) -> UploadAnswer:
        answers = [await self._commit_one(item, policy) for item in self.received]
        failed = [item for item in self.received if item.error]
        if len(failed) == len(self.received) and failed[0].error is not None:
            raise failed[0].error
        counts = {outcome: sum(answer.outcome == outcome for answer in answers) for outcome in _OUTCOMES}
        return UploadAnswer(documents=answers, **counts)

    async def _commit_one(self, item: _Received, policy: DuplicatePolicy) -> UploadedDocument:
        if item.staged is not None:
            try:
                result = await self.application.uploads.commit(
                    item.staged,
                    tag_ids=None if item.tag_ids is None else list(dict.fromkeys(item.tag_ids)),
                    metadata=item.metadata,
                    policy=policy,
                    request_id=self.request_id,
                )
                return UploadedDocument(
                    file_name=item.file_name,
                    outcome=result.outcome.value,
                    document_id=result.document.id,
                    document=DocumentResponse.of(result.document),
                    error=None,
                )
            except AnalytiqError as error:
                item.error = error
                await self.application.uploads.discard(item.staged)
        assert item.error is not None  # noqa: S101  # what was not staged has an error
        problem = UploadError(code=item.error.code, detail=item.error.detail)
        return UploadedDocument(
            file_name=item.file_name, outcome="failed", document_id=None, document=None, error=problem
        )

    async def _discard(self) -> None:
        for item in self.received:
            if item.staged is not None:
                await self.application.uploads.discard(item.staged)


_OUTCOMES = (*(outcome.value for outcome in UploadOutcome), "failed")


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _invalid_json(error: ValidationError) -> InvalidInputError:
    fields: Sequence[FieldError] = [
        FieldError(field_path(item["loc"]), reason_of(item["type"], item["msg"])) for item in error.errors()
    ]
    named = "; ".join(f"{item.field}: {item.reason}" for item in fields[:5])
    return InvalidInputError(named, errors=fields)
