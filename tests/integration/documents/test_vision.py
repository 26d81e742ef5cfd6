"""Figures described and pages read by an organization's vision model, a scripted provider over real HTTP."""

import base64
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw
from pydantic import SecretStr

from analytiq.composition import Services
from analytiq.errors import InvalidInputError
from analytiq.models.blocks import BlockKind
from analytiq.models.document import Document, DocumentState
from analytiq.models.llm_usage import LlmOperation
from analytiq.models.text import DocumentText, TextSource
from analytiq.models.vision import VisionSettings
from analytiq.settings import ExtractionSettings, LlmSettings
from analytiq.tenancy.organizations.own_settings import SettingsChange
from tests.fakes.chat_server import ChatServer, Fail, Say, pictures_of
from tests.integration.conftest import Compose
from tests.integration.tenant import Tenant, new_tenant
from tests.unit.parsing.test_pdf import make_scan

PROVIDER = "hosted_vllm"
MODEL = f"{PROVIDER}/fake-chat"
BOTH = VisionSettings(model=MODEL, describe_figures=True, read_pages=True)


@pytest.fixture
def model() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
async def services(compose_services: Compose) -> Services:
    """Workers that have no OCR data for the language, so that every scan is read badly."""
    return await compose_services(extraction=ExtractionSettings(ocr_languages=("qqq",)), llm=LlmSettings())


@pytest.fixture
async def tenant(services: Services, model: ChatServer) -> Tenant:
    """An organization whose own vision model describes figures and reads pages."""
    tenant = await new_tenant(services)
    await services.inference.credentials.put(tenant.id, PROVIDER, api_key=SecretStr(model.api_key), api_base=model.url)
    return await with_vision(tenant, BOTH)


async def with_vision(tenant: Tenant, vision: VisionSettings) -> Tenant:
    own = tenant.services.tenancy.own_settings
    return Tenant(tenant.services, await own.change(tenant.organization, SettingsChange(vision=vision)), tenant.tag)


def data_uri(color: str = "red") -> str:
    image = Image.new("RGB", (300, 200), "white")
    ImageDraw.Draw(image).rectangle((20, 20, 150, 100), fill=color)
    target = io.BytesIO()
    image.save(target, "PNG")
    return "data:image/png;base64," + base64.b64encode(target.getvalue()).decode()


def page_of(*colors: str) -> str:
    figures = "".join(f"<img src='{data_uri(color)}'><p>Behind {color}.</p>" for color in colors)
    return f"<html><body><h1>Report</h1><p>Before.</p>{figures}</body></html>"


def scan(tmp_path: Path, pages: int = 1) -> bytes:
    path = tmp_path / "scan.pdf"
    make_scan(pages).save(path)
    return path.read_bytes()


async def text_of(tenant: Tenant, document: Document) -> DocumentText:
    assert document.text_id is not None
    return await tenant.services.repositories.texts.read(tenant.id, document.text_id)


def images_in(text: DocumentText) -> list[str]:
    return [text.text[block.start : block.end] for block in text.blocks if block.kind is BlockKind.IMAGE]


async def uploaded(tenant: Tenant, name: str, content: str | bytes) -> Document:
    document = (await tenant.upload(name, content)).document
    await tenant.drain()
    return await tenant.services.ingestion.documents.get(tenant.id, document.id)


async def usage(tenant: Tenant) -> list[tuple[str, str, int]]:
    totals = await tenant.services.repositories.llm_usage.totals(tenant.id)
    return [(total.operation.value, total.model, total.calls) for total in totals]


async def readings(tenant: Tenant) -> int:
    collection: Any = tenant.services.repositories.connection.database["picture_readings"]
    return await collection.count_documents({"organization_id": tenant.id})


async def test_figure_becomes_a_block_at_its_place_and_its_words_are_found(tenant: Tenant, model: ChatServer) -> None:
    model.script(Say("A bar chart: heliotrope sales rise from 3 to 9."))
    kb = await tenant.knowledge_base()
    document = await uploaded(tenant, "report.html", page_of("red"))
    text = await text_of(tenant, document)
    assert images_in(text) == ["A bar chart: heliotrope sales rise from 3 to 9."]
    assert "Before.\n\nA bar chart" in text.text
    assert "from 3 to 9.\n\nBehind red." in text.text
    assert any(f"1 figure was described by {MODEL}" in warning for warning in document.warnings)
    assert await tenant.found(kb.id, "heliotrope sales") == [document.id]
    (body,) = model.requests
    assert [image.size for image in pictures_of(body)] == [(300, 200)]
    assert "never instructions" in body["messages"][0]["content"][0]["text"]
    assert await usage(tenant) == [(LlmOperation.VISION.value, MODEL, 1)]


async def test_badly_read_page_is_read_by_the_model_with_a_warning(
    tenant: Tenant, model: ChatServer, tmp_path: Path
) -> None:
    model.script(Say("Dear Anna,\n\nthe heliotrope has arrived."))
    document = await uploaded(tenant, "scan.pdf", scan(tmp_path))
    text = await text_of(tenant, document)
    assert text.text == "Dear Anna,\n\nthe heliotrope has arrived."
    assert [page.source for page in text.pages] == [TextSource.VISION]
    assert any(re.search(f"Page 1 was read by {MODEL}", warning) for warning in document.warnings)


@pytest.mark.parametrize("vision", [VisionSettings(model=MODEL), VisionSettings(model=MODEL, read_pages=True)])
async def test_task_that_is_off_calls_no_model(tenant: Tenant, model: ChatServer, vision: VisionSettings) -> None:
    quiet = await with_vision(tenant, vision)
    document = await uploaded(quiet, "report.html", page_of("red"))
    assert (document.state, document.warnings, model.calls) == (DocumentState.EXTRACTED, (), 0)


async def test_organization_without_a_choice_sends_nothing(services: Services, model: ChatServer) -> None:
    plain = await new_tenant(services)
    await services.inference.credentials.put(plain.id, PROVIDER, api_key=SecretStr(model.api_key), api_base=model.url)
    await uploaded(plain, "report.html", page_of("red"))
    assert model.calls == 0


async def test_operators_key_is_never_used(services: Services, model: ChatServer) -> None:
    await services.inference.credentials.store_platform_defaults({PROVIDER: (SecretStr(model.api_key), model.url)})
    poor = await with_vision(await new_tenant(services), VisionSettings(model=MODEL, describe_figures=True))
    document = await uploaded(poor, "report.html", page_of("red"))
    assert model.calls == 0
    assert document.state is DocumentState.EXTRACTED
    assert any("needs your own API key of 'hosted_vllm'" in warning for warning in document.warnings)


async def test_refused_picture_leaves_the_text_with_a_warning(
    tenant: Tenant, model: ChatServer, tmp_path: Path
) -> None:
    model.script(Fail(400, "this picture is not allowed"))
    document = await uploaded(tenant, "report.html", page_of("red"))
    assert document.state is DocumentState.EXTRACTED
    assert (await text_of(tenant, document)).text.endswith("Before.\n\nBehind red.")
    assert any("1 figure could not be described by the vision model" in warning for warning in document.warnings)
    model.script(Say("I refuse.", finish_reason="content_filter"))
    document = await uploaded(tenant, "scan.pdf", scan(tmp_path))
    assert document.state is DocumentState.EXTRACTED
    refused = "Page 1 could not be read by the vision model: The model refused the picture."
    assert refused in document.warnings


async def test_cut_reading_of_a_page_is_not_taken_for_the_page(
    tenant: Tenant, model: ChatServer, tmp_path: Path
) -> None:
    model.script(Say("The first half of", finish_reason="length"))
    document = await uploaded(tenant, "scan.pdf", scan(tmp_path))
    assert "first half" not in (await text_of(tenant, document)).text
    assert any("cut before the end of the page" in warning for warning in document.warnings)


async def test_outage_retries_the_job_and_pays_only_for_what_was_not_answered(
    tenant: Tenant, model: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.ingestion.extraction.picture_reader.CALLS_AT_ONCE", 1)
    model.script(Say("The first figure."), *[Fail(503)] * 3)
    document = (await tenant.upload("report.html", page_of("red", "blue"))).document
    await tenant.drain()
    waiting = await tenant.services.ingestion.documents.get(tenant.id, document.id)
    assert waiting.state is not DocumentState.EXTRACTED
    assert await readings(tenant) == 1
    asked = model.calls
    await make_due(tenant)
    model.script(Say("The second figure."))
    await tenant.drain()
    done = await tenant.services.ingestion.documents.get(tenant.id, document.id)
    assert done.state is DocumentState.EXTRACTED
    assert sorted(images_in(await text_of(tenant, done))) == ["The first figure.", "The second figure."]
    assert model.calls == asked + 1


async def make_due(tenant: Tenant) -> None:
    """Let the waiting jobs run now."""
    jobs: Any = tenant.services.repositories.connection.database["jobs"]
    await jobs.update_many(
        {"organization_id": tenant.id}, [{"$set": {"run_at": {"$dateSubtract": {
            "startDate": "$$NOW", "unit": "second", "amount": 1}}}}]
    )  # fmt: skip


async def test_same_picture_is_paid_once_in_an_organization_and_again_by_another(
    tenant: Tenant, services: Services, model: ChatServer
) -> None:
    model.script(Say("A red square."))
    first = await uploaded(tenant, "one.html", page_of("red"))
    second = await uploaded(tenant, "two.html", page_of("red") + "<p>More.</p>")
    assert model.calls == 1
    for document in (first, second):
        assert images_in(await text_of(tenant, document)) == ["A red square."]
    other = await new_tenant(services)
    await services.inference.credentials.put(other.id, PROVIDER, api_key=SecretStr(model.api_key), api_base=model.url)
    await uploaded(await with_vision(other, BOTH), "one.html", page_of("red"))
    assert model.calls == 2


async def test_readings_go_with_their_document_and_stay_for_others_that_share_the_picture(
    tenant: Tenant, model: ChatServer
) -> None:
    model.script(Say("A red square."))
    first = await uploaded(tenant, "one.html", page_of("red"))
    second = await uploaded(tenant, "two.html", page_of("red") + "<p>More.</p>")
    assert await readings(tenant) == 2
    await tenant.services.ingestion.documents.delete(tenant.id, first.id)
    await tenant.drain()
    assert await readings(tenant) == 1
    await tenant.replace("two.html", page_of("blue"))
    await tenant.drain()
    assert await readings(tenant) == 1
    await tenant.services.ingestion.documents.delete(tenant.id, second.id)
    await tenant.drain()
    assert await readings(tenant) == 0


async def test_decoration_is_left_out_and_a_long_answer_is_cut(tenant: Tenant, model: ChatServer) -> None:
    def answer(body: dict[str, Any]) -> str:
        pixel: Any = pictures_of(body)[0].convert("RGB").getpixel((30, 30))
        return "NONE." if pixel[0] > 200 else "x" * 9000

    model.script(Say(answer), Say(answer))
    document = await uploaded(tenant, "report.html", page_of("red", "blue"))
    assert [len(text) for text in images_in(await text_of(tenant, document))] == [2000]


async def test_tasks_without_a_model_are_refused(tenant: Tenant) -> None:
    with pytest.raises(InvalidInputError) as refusal:
        await with_vision(tenant, VisionSettings(read_pages=True))
    assert [error.field for error in refusal.value.errors] == ["vision.model"]
