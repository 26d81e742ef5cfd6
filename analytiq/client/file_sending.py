"""Sends the files of one upload, and those again that a temporary failure kept from being stored."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analytiq.client.errors import ProblemError
from analytiq.client.models import UploadAnswer, UploadedDocument
from analytiq.client.transport import COMMIT_UNKNOWN, FilePart, Patience, Transport
from analytiq.client.upload import CountedFile

TEMPORARY = frozenset({COMMIT_UNKNOWN, "database_unreachable", "transaction_deadline"})
"""Failures of a database that is away for a while: nothing is wrong with the file."""


@dataclass(frozen=True, slots=True)
class UploadForm:
    """The fields of an upload: for all files, and lists with an item for each file."""

    shared: dict[str, str | list[str]]
    of_each: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def of(self, indices: Sequence[int]) -> Mapping[str, str | list[str]]:
        """Return the fields for some of the files."""
        return {**self.shared, **{name: [values[index] for index in indices] for name, values in self.of_each.items()}}


class FileSending:
    """One upload through the outages of the API's database."""

    def __init__(self, transport: Transport, form: UploadForm, *, makes_copies: bool) -> None:
        """Begin an upload; `makes_copies`: a file that is sent twice becomes two documents."""
        self._transport = transport
        self._form = form
        self._makes_copies = makes_copies

    def send(self, files: Sequence[tuple[CountedFile, FilePart]]) -> UploadAnswer:
        """Send the open files; return the last outcome of each.

        Raises:
            ProblemError: the call, or every file of it, is refused.
        """
        answer = self._send_once(files, range(len(files)))
        patience = Patience(has_key=False, may_wait_long=False, knows_api=True)
        while (left := self._to_repeat(answer)) and patience.wait():
            for index in left:
                files[index][0].begin_again()
            try:
                repeated = self._send_once(files, left)
            except ProblemError:
                break  # the answer has the outcomes of the others
            answer = _merged(answer, dict(zip(left, repeated.documents, strict=True)))
        return answer

    def _to_repeat(self, answer: UploadAnswer) -> list[int]:
        codes = TEMPORARY - {COMMIT_UNKNOWN} if self._makes_copies else TEMPORARY
        documents = enumerate(answer.documents)
        return [index for index, document in documents if document.error is not None and document.error.code in codes]

    def _send_once(self, files: Sequence[tuple[CountedFile, FilePart]], indices: Sequence[int]) -> UploadAnswer:
        def begin_again() -> None:
            for index in indices:
                files[index][0].begin_again()

        answer = self._transport.send_files(
            "/documents",
            self._form.of(indices),
            [files[index][1] for index in indices],
            is_repeatable=not self._makes_copies,
            begin_again=begin_again,
        )
        return UploadAnswer.model_validate_json(answer)


def _merged(answer: UploadAnswer, repeated: Mapping[int, UploadedDocument]) -> UploadAnswer:
    documents = [repeated.get(index, document) for index, document in enumerate(answer.documents)]
    counts = Counter(document.outcome for document in documents)
    names = ("created", "returned", "replaced", "failed")
    return answer.model_copy(update={"documents": documents, **{name: counts[name] for name in names}})
