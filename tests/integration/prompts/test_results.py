"""Results: edited, verified, replaced, exported."""

import csv
import io
import json

import pytest

from analytiq.errors import ConflictError, InvalidInputError, NotFoundError
from analytiq.models.document import Document
from analytiq.models.prompt import Prompt, PromptVersion
from analytiq.models.prompt_run import PromptResult, RunStatus
from analytiq.storage.repositories.prompt_results import ResultQuery
from tests.fakes.chat_server import ChatServer, Say
from tests.integration.prompts.prompting import ANSWER, SCHEMA, Prompting, says

pytestmark = pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning")


@pytest.fixture
async def prompt(tenant: Prompting) -> Prompt:
    return await tenant.prompt(schema=SCHEMA)


@pytest.fixture
async def version(tenant: Prompting, prompt: Prompt) -> PromptVersion:
    return await tenant.services.assistants.prompts.version(tenant.id, prompt.id, None)


@pytest.fixture
async def document(tenant: Prompting, prompt: Prompt, chat_server: ChatServer) -> Document:
    """One with a result of the prompt."""
    document = await tenant.document("birds.txt", "Birds in 1007.", tags=[])
    chat_server.script(says(ANSWER))
    await tenant.run(prompt, document)
    return document


async def result_of(tenant: Prompting, prompt: Prompt, document: Document) -> PromptResult:
    return await tenant.services.assistants.results.get(tenant.id, prompt.id, 1, document.id)


async def test_verified_result_counts_until_a_later_run_has_succeeded_and_is_kept_after_it(
    tenant: Prompting, prompt: Prompt, version: PromptVersion, document: Document, chat_server: ChatServer
) -> None:
    verified = await tenant.services.assistants.results.change(
        tenant.id, version, document.id, answer={"year": 1008, "animal": "owls"}, is_verified=True
    )
    chat_server.script(Say("no"), Say("no"))
    failed = await tenant.run(prompt, document)
    assert failed.status is RunStatus.FAILED
    assert await result_of(tenant, prompt, document) == verified
    chat_server.script(says({"year": 1009, "animal": "gulls"}))
    run = await tenant.run(prompt, document)
    result = await result_of(tenant, prompt, document)
    assert (json.loads(result.answer)["animal"], result.is_verified, result.run_id) == ("gulls", False, run.id)
    (earlier,) = result.earlier
    assert (json.loads(earlier.answer)["animal"], earlier.is_verified, earlier.is_edited) == ("owls", True, True)


async def test_result_that_nobody_had_a_hand_in_leaves_nothing_behind(
    tenant: Prompting, prompt: Prompt, document: Document, chat_server: ChatServer
) -> None:
    chat_server.script(says({"year": 1009, "animal": "gulls"}))
    await tenant.run(prompt, document)
    assert (await result_of(tenant, prompt, document)).earlier == ()


async def test_edited_answer_follows_the_schema_too(
    tenant: Prompting, version: PromptVersion, document: Document
) -> None:
    change = tenant.services.assistants.results.change
    with pytest.raises(InvalidInputError) as refused:
        await change(tenant.id, version, document.id, answer={"year": "x", "animal": "owls"})
    assert [error.field for error in refused.value.errors] == ["answer.year"]
    edited = await change(tenant.id, version, document.id, answer={"year": 1, "animal": "owls"})
    assert (edited.is_edited, edited.is_verified) == (True, False)


async def test_verification_of_an_answer_that_a_run_has_replaced_is_refused(
    tenant: Prompting, prompt: Prompt, version: PromptVersion, document: Document, chat_server: ChatServer
) -> None:
    seen = await result_of(tenant, prompt, document)
    chat_server.script(says({"year": 1009, "animal": "gulls"}))
    await tenant.run(prompt, document)
    with pytest.raises(ConflictError, match="Another run"):
        await tenant.services.assistants.results.change(
            tenant.id, version, document.id, is_verified=True, expected_run_id=seen.run_id
        )


async def test_results_of_another_organization_are_unknown(
    tenant: Prompting, prompt: Prompt, document: Document
) -> None:
    with pytest.raises(NotFoundError):
        await tenant.services.assistants.results.get("f" * 24, prompt.id, 1, document.id)


async def test_export_has_a_column_for_each_field_and_runs_no_formula(
    tenant: Prompting, chat_server: ChatServer
) -> None:
    prompt = await tenant.prompt(schema={"type": "object"})
    answers = [
        {"name": '=HYPERLINK("http://evil")', "total": -5, "ok": True},
        {"name": " @SUM(A1)", "list": ["=1"], "-cmd": None},
        {"name": "+1\nline", "total": 1.5},
    ]
    for number, answer in enumerate(answers):
        document = await tenant.document(f"={number}.txt", f"Text {number}", tags=[])
        chat_server.script(says(answer))
        await tenant.run(prompt, document)
    export = tenant.services.assistants.export
    written = "".join([piece async for piece in export.csv(tenant.id, prompt.id, ResultQuery())])
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [row["name"] for row in rows] == ['\'=HYPERLINK("http://evil")', "' @SUM(A1)", "'+1\nline"]
    assert [row["total"] for row in rows] == ["-5", "", "1.5"]
    assert [row["document_name"] for row in rows] == ["'=0.txt", "'=1.txt", "'=2.txt"]
    assert rows[1]["list"] == '["=1"]'
    assert "'-cmd" in rows[0]
    read = json.loads("".join([piece async for piece in export.json(tenant.id, prompt.id, ResultQuery())]))
    assert [item["answer"] for item in read] == answers


async def test_export_of_nothing_is_well_formed(tenant: Prompting, prompt: Prompt) -> None:
    export = tenant.services.assistants.export
    assert json.loads("".join([piece async for piece in export.json(tenant.id, prompt.id, ResultQuery())])) == []
    assert len([piece async for piece in export.csv(tenant.id, prompt.id, ResultQuery())]) == 1
