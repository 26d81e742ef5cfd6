"""Each loader of the compatible routes becomes a kind of source whose own schema accepts the settings."""

import json
from typing import Any

import pytest

from analytiq.ingestion.sources.registry import load_kind, validated
from api.schemas.compatible import DataResourceCreate, Loader

URL = "https://example.com/a"
THESE: dict[str, Any] = {"url": URL, "more_urls": [], "max_pages": 1, "max_depth": 0, "use_sitemaps": False}
TEXT: dict[str, Any] = {"text": "x"}
SEED = {"url": URL, "closespider_pagecount": 100, "use_browser": False}
QUESTION = [{"question": "Q?", "answer": "A"}]
CASES: dict[Loader, tuple[str, dict[str, Any], dict[str, Any]]] = {
    Loader.WEB: ("web", SEED, {"url": URL, "max_pages": 100, "javascript": "never"}),
    Loader.PDF: ("web", {"urls": [URL]}, THESE),
    Loader.TEXT: ("web", {"url": URL}, THESE),
    Loader.CSV_TO_SQL: ("web", {"url": URL}, THESE),
    Loader.QNA: ("qna", {"pairs": [["Q?", "A"]]}, {"text": json.dumps(QUESTION)}),
    Loader.INTENT: ("intents", TEXT, TEXT),
    Loader.OPENAPI: ("openapi", {"url": URL}, {"url": URL}),
    Loader.NOTION: ("notion", {"credentials": {"token": "t"}}, {}),
    Loader.CONFLUENCE: ("confluence", {"url": URL}, {"url": URL}),
    Loader.SLACK: ("slack", {"channels": ["general"]}, {"channels": ["general"]}),
    Loader.ZENDESK: ("zendesk", {"url": URL}, {"url": URL}),
    Loader.SHAREPOINT: (
        "sharepoint",
        {"site": "https://x.sharepoint.com/sites/t"},
        {"site": "https://x.sharepoint.com/sites/t"},
    ),
}


@pytest.mark.parametrize("loader", list(Loader))
def test_loader_becomes_a_source(loader: Loader) -> None:
    kind, options, settings = CASES[loader]
    draft, items = DataResourceCreate(loader=loader, loader_options=options).draft("id-1")
    assert (draft.kind, dict(draft.settings), items) == (kind, settings, ())
    assert (draft.name, draft.metadata) == ("id-1", {"data_resource_id": "id-1"})
    assert draft.credentials == options.get("credentials", {})
    schema = load_kind(kind).settings_schema
    assert set(draft.settings) <= set(schema.model_fields)
    if kind != "sharepoint":  # its tenant and application are required settings
        validated(schema, draft.settings, field="settings")


def test_text_and_files_of_the_call_are_pushed() -> None:
    draft, (item,) = DataResourceCreate(loader=Loader.TEXT, loader_options={"text": "Due.", "name": "a.md"}).draft("r")
    assert (draft.kind, item.name, item.content) == ("push", "a.md", b"Due.")
    options: dict[str, Any] = {"files": [{"name": "a.PDF", "content": "JVBERg=="}]}
    _, (file,) = DataResourceCreate(loader=Loader.PDF, loader_options=options).draft("r")
    assert (file.name, file.content) == ("a.PDF", b"%PDF")


def test_secrets_of_options_are_shown_by_no_representation() -> None:
    body = DataResourceCreate(loader=Loader.NOTION, loader_options={"credentials": {"token": "secret-token"}})
    assert "secret-token" not in repr(body.draft("r"))
    assert "secret-token" not in repr(body)
