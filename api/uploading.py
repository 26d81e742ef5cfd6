"""Uploads, multipart or JSON, with a result for each file, so that none is lost silently."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue, SecretStr, ValidationError

from analytiq.composition import Services
from analytiq.errors import AnalytiqError, FieldError, InvalidInputError, LimitExceededError
from analytiq.ingestion.documents.metadata import fitted_metadata, validated_metadata
from analytiq.ingestion.documents.metadata_fields import DeclaredFields
from analytiq.ingestion.documents.naming import (
    last_component,
    validated_name,
    validated_origin,
    validated_path,
    validated_source_url,
)
from analytiq.ingestion.documents.passwords import lacks_password
from analytiq.ingestion.documents.storage import StorageEstimate
from analytiq.ingestion.upload.request import StagedFile, UploadRequest
from analytiq.ingestion.upload.store import UploadResult
from analytiq.models.document import ExternalIdentity
from analytiq.models.organization import Organization
from analytiq.models.upload import BULK_FILES, UploadOutcome
from api.multipart import FieldPart, FilePart
from api.schemas.documents import (
    DocumentResponse,
    DocumentUpload,
    DocumentUploads,
    UploadAnswer,
    UploadedDocument,
    UploadError,
)
from api.upload_form import Form, Manner, invalid_json

FILE_FIELDS = ("files", "file")
OCTET_STREAM = "application/octet-stream"


@dataclass(slots=True)
class ReceivedFile:
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


class FileChecks:
    """Checks of the files of one batch: tags and declared fields are read once for all of them."""

    def __init__(self, services: Services, organization_id: str) -> None:
        self._services = services
        self._organization_id = organization_id
        self._declared: DeclaredFields | None = None
        self._known_tags: set[str] = set()

    async def check(self, upload: DocumentUpload, place: str) -> bytes:
        """Validate the fields of a file, and decode its content.

        Raises:
            InvalidInputError: names the field, below `place` unless that is empty.
        """
        try:
            return await self._checked(upload)
        except InvalidInputError as error:
            if not place:
                raise
            fields = [FieldError(f"{place}.{item.field}", item.reason) for item in error.errors]
            raise InvalidInputError(f"{place}: {error.detail}", errors=fields, code=error.code) from error

    async def _checked(self, upload: DocumentUpload) -> bytes:
        if upload.path is not None:
            validated_path(upload.path)
        elif upload.name is None:
            raise InvalidInputError.of_field("name", "Missing. Give a name, or a path.")
        else:
            validated_name(last_component(upload.name), field="name")
        if upload.metadata:
            if self._declared is None:
                self._declared = await self._services.ingestion.metadata_fields.of(self._organization_id)
            fitted_metadata(validated_metadata(upload.metadata), self._declared.types)
        await self.require_tags(upload.tag_ids)
        if upload.source_url is not None:
            validated_source_url(upload.source_url)
        return upload.decoded("content")

    async def require_tags(self, tag_ids: Sequence[str] | None) -> None:
        """Check that the tags exist.

        Raises:
            InvalidInputError: one does not.
        """
        if tag_ids is not None and not self._known_tags.issuperset(tag_ids):
            self._known_tags |= set(await self._services.ingestion.tags.require(self._organization_id, list(tag_ids)))


@dataclass(slots=True)
class UploadSession:
    """An upload request: receives files, then commits them together."""

    services: Services
    organization: Organization
    request_id: str
    received: list[ReceivedFile] = field(default_factory=list[ReceivedFile])
    _estimate: StorageEstimate | None = None

    async def receive_multipart(self, parts: AsyncIterator[FilePart | FieldPart]) -> UploadAnswer:
        """Stage the files while they stream in, then commit them with the form's fields."""
        form = Form()
        try:
            async for part in parts:
                if isinstance(part, FieldPart):
                    form.take(part.name, part.value)
                elif part.field in FILE_FIELDS:
                    self.require_number(len(self.received) + 1)
                    await self._receive_part(form, part)
                else:
                    raise InvalidInputError.of_field(part.field, "Unknown file field. Send files in the field `files`.")
            if not self.received:
                raise InvalidInputError.of_field("files", "No file was sent.")
            form.require_one_for_each(len(self.received))
            tag_ids = form.tag_ids
            if tag_ids is not None:
                tag_ids = await self.services.ingestion.tags.require(self.organization.id, tag_ids)
        except BaseException:
            await self.discard()
            raise
        for index, item in enumerate(self.received):
            try:
                item.path = form.path_of(index)
            except InvalidInputError as error:
                await self._refuse(item, error)
            item.tag_ids, item.metadata = tag_ids, form.metadata
            item.external_identity, item.password = form.external_identity_of(index), form.password
            item.source_url = form.source_url_of(index)
        return await self.commit(Manner(form.on_duplicate, form.merge, form.origin, form.bulk))

    async def _receive_part(self, form: Form, part: FilePart) -> None:
        index = len(self.received)
        try:
            item = ReceivedFile(form.path_of(index) or part.filename)
        except InvalidInputError as error:
            self.received.append(ReceivedFile(part.filename, error=error))
            return
        item.external_identity = form.external_identity_of(index)
        await self.stage(item, part.content_type or OCTET_STREAM, part.stream)

    async def receive_json(self, body: bytes) -> UploadAnswer:
        """Check the files of a JSON upload, all of them before any is staged; then commit them.

        Raises:
            InvalidInputError: names the fields of the first invalid file; nothing was stored.
        """
        try:
            uploads = DocumentUploads.model_validate_json(body)
        except ValidationError as error:
            raise invalid_json(error) from error
        origin = uploads.origin and validated_origin(uploads.origin)
        self.require_number(len(uploads.documents))
        checks = FileChecks(self.services, self.organization.id)
        contents = [await checks.check(upload, f"documents[{index}]") for index, upload in enumerate(uploads.documents)]
        try:
            for upload, content in zip(uploads.documents, contents, strict=True):
                await self.receive_upload(upload, content)
        except BaseException:
            await self.discard()
            raise
        return await self.commit(Manner(uploads.on_duplicate, uploads.merge, origin, uploads.bulk))

    async def receive_upload(self, upload: DocumentUpload, content: bytes) -> None:
        """Stage a file of a JSON body after `FileChecks.check`."""
        identity = upload.external_identity
        item = ReceivedFile(
            upload.path or last_component(upload.name or ""),
            tag_ids=upload.tag_ids,
            metadata=upload.metadata,
            external_identity=None if identity is None else identity.to_model(),
            password=upload.password,
            source_url=upload.source_url,
        )
        await self.stage(item, upload.content_type or OCTET_STREAM, once(content))

    def require_number(self, files: int) -> None:
        """Check the number of files of the call.

        Raises:
            LimitExceededError: there are too many.
        """
        most = self.services.settings.api.max_files_per_upload
        if files > most:
            raise LimitExceededError(f"An upload can have at most {most:,} files. Send several uploads.")

    async def stage(self, item: ReceivedFile, content_type: str, source: AsyncIterator[bytes]) -> None:
        """Write the bytes of a file, or record its error."""
        if self._estimate is None:
            self._estimate = self.services.ingestion.storage.estimate(self.organization.id)
        try:
            item.staged = await self.services.ingestion.uploads.stage(
                self.organization.id,
                document_name=item.file_name,
                content_type=content_type,
                source=source,
                external_identity=item.external_identity,
                estimate=self._estimate,
            )
        except AnalytiqError as error:
            item.error = error
        self.received.append(item)

    async def commit(self, manner: Manner) -> UploadAnswer:
        """Commit all received files.

        Raises:
            AnalytiqError: the error of the first file, if none was taken.
        """
        failures = self.received
        answers = await self.commit_received(manner)
        if all(item.error for item in failures) and failures[0].error is not None:
            raise failures[0].error
        return answer_of(answers)

    async def commit_received(self, manner: Manner) -> list[UploadedDocument]:
        """Commit what was received since the last commit; answer each file, in order."""
        received, self.received = self.received, []
        is_bulk = manner.is_bulk or len(received) > BULK_FILES
        staged = [(item, item.staged) for item in received if item.staged is not None and item.error is None]
        requests = [self._request(item, file, manner, is_bulk=is_bulk) for item, file in staged]
        answers: dict[int, UploadedDocument] = {}
        results = await self.services.ingestion.uploads.commit_all(requests)
        for (item, _), result in zip(staged, results, strict=True):
            if isinstance(result, AnalytiqError):
                await self._refuse(item, result)
                continue
            try:
                answers[id(item)] = await self._answer(item, result)
            except AnalytiqError as error:
                item.error = error
        return [answers.get(id(item)) or _refused(item) for item in received]

    def _request(self, item: ReceivedFile, staged: StagedFile, manner: Manner, *, is_bulk: bool) -> UploadRequest:
        passwords = self.services.ingestion.passwords
        return UploadRequest(
            staged=staged,
            tag_ids=None if item.tag_ids is None else list(dict.fromkeys(item.tag_ids)),
            metadata=item.metadata,
            policy=manner.policy,
            merges=manner.merges,
            path=item.path,
            origin=manner.origin,
            external_identity=item.external_identity,
            password=None if item.password is None else passwords.sealed(item.password),
            source_url=item.source_url,
            is_bulk=is_bulk,
            request_id=self.request_id,
        )

    async def _answer(self, item: ReceivedFile, result: UploadResult) -> UploadedDocument:
        document = result.document
        if result.outcome is UploadOutcome.RETURNED and item.password and lacks_password(document):
            document = await self.services.ingestion.passwords.give(
                document.organization_id, document.id, item.password, request_id=self.request_id
            )
        return UploadedDocument(
            file_name=item.file_name,
            outcome=result.outcome.value,
            document_id=document.id,
            document=DocumentResponse.from_model(document),
            error=None,
        )

    async def _refuse(self, item: ReceivedFile, error: AnalytiqError) -> None:
        item.error = item.error or error
        if item.staged is not None:
            await self.services.ingestion.uploads.discard(item.staged)
            item.staged = None

    async def discard(self) -> None:
        """Delete the bytes of all received files."""
        for item in self.received:
            if item.staged is not None:
                await self.services.ingestion.uploads.discard(item.staged)


_OUTCOMES = (*(outcome.value for outcome in UploadOutcome), "failed")


def answer_of(answers: Sequence[UploadedDocument]) -> UploadAnswer:
    """Return the answer to a call, with the number of each outcome."""
    counts = {outcome: sum(answer.outcome == outcome for answer in answers) for outcome in _OUTCOMES}
    return UploadAnswer(documents=list(answers), **counts)


def _refused(item: ReceivedFile) -> UploadedDocument:
    assert item.error is not None  # noqa: S101  # what was not taken has an error
    problem = UploadError(code=item.error.code, detail=item.error.detail)
    return UploadedDocument(file_name=item.file_name, outcome="failed", document_id=None, document=None, error=problem)


async def once(content: bytes) -> AsyncIterator[bytes]:
    """Yield the content as one block."""
    yield content
