"""Services that answer by language models: conversations and prompts."""

from functools import cached_property
from typing import TYPE_CHECKING

from analytiq.assistants.chat.answering import Answering
from analytiq.assistants.chat.recorder import AnswerServices
from analytiq.assistants.chat.service import Chats
from analytiq.assistants.engine.table_tool import TableTool
from analytiq.assistants.prompts.export import ResultExport
from analytiq.assistants.prompts.recorder import RunServices
from analytiq.assistants.prompts.results import PromptResults
from analytiq.assistants.prompts.running import PromptRunning
from analytiq.assistants.prompts.runs import PromptRuns
from analytiq.assistants.prompts.service import Prompts
from analytiq.assistants.prompts.triggers import PromptTriggers

if TYPE_CHECKING:
    from analytiq.composition.services import Services


class Assistants:
    """Conversations, and prompts from their text to their results."""

    def __init__(self, services: "Services") -> None:
        self._services = services
        self._rows = services.repositories
        self._settings = services.settings

    @cached_property
    def conversations(self) -> Chats:
        """Conversations: questions, answers, citations."""
        rows, settings, ingestion = self._rows, self._settings.chat, self._services.ingestion
        chat = self._services.inference.chat_models
        services = AnswerServices(chat, self._services.retrieval.search, self._table_tool, settings)
        answering = Answering(services, ingestion.documents)
        chats = Chats(rows, ingestion.knowledge_bases, answering, settings)
        self._services.closing.push_async_callback(chats.close)
        self._services.when_closing_begins.append(chats.begin_closing)
        return chats

    @cached_property
    def _table_tool(self) -> TableTool:
        ingestion = self._services.ingestion
        return TableTool(ingestion.tables, ingestion.knowledge_bases)

    @cached_property
    def prompts(self) -> Prompts:
        """Prompts and their versions."""
        rows = self._rows
        return Prompts(rows, self._services.inference.chat_models)

    @cached_property
    def runs(self) -> PromptRuns:
        """Runs of prompts: requested, read, cancelled."""
        rows = self._rows
        return PromptRuns(rows, self._services.inference.chat_models)

    @cached_property
    def triggers(self) -> PromptTriggers:
        """Automatic starts of prompts."""
        rows = self._rows
        return PromptTriggers(rows)

    @cached_property
    def running(self) -> PromptRunning:
        """The stage that runs a prompt on a document."""
        rows, chat = self._rows, self._services.inference.chat_models
        search = self._services.retrieval.search
        services = RunServices(chat, search, self._table_tool, rows.prompt_runs)
        return PromptRunning(rows, services, self._settings.prompts)

    @cached_property
    def results(self) -> PromptResults:
        """Results: read, corrected, verified."""
        return PromptResults(self._rows.prompt_results)

    @cached_property
    def export(self) -> ResultExport:
        """Results as files."""
        return ResultExport(self._rows.prompt_results, self._rows.documents)
