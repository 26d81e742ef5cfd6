"""One ingestion of a directory by another framework, in its own process and environment: prints one line of JSON.

    python -m benchmarks.ingestion_frameworks NAME FILES STORE

Started by `python -m benchmarks.ingest_peers`, once for each phase: STORE keeps the framework's state between them.
Imports are not measured. Each framework uses its native reader, its native splitter at about 1,000 characters, the
hash embedder, and a persistent Chroma; both know unchanged files by their own means and embed only new chunks.
"""

# The packages are those of requirements/benchmarks.txt, which no other code of the repository imports.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUntypedBaseClass=false, reportUnknownArgumentType=false

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.hash_vectors import hash_vectors

DIMENSIONS = 384
CHUNK_TOKENS = 256
CHUNK_CHARACTERS = 1000
BATCH = 1000
"""Chunks of one step of LangChain's `index`; at its default of 100 it takes 1.5 times as long."""

Ingestion = Callable[[], int]
"""Brings the store up to date with the files, and returns the number of texts embedded."""


def llama_index(files: Path, store: Path) -> Ingestion:
    """Prepare an IngestionPipeline that upserts by a document store, with its cache, into Chroma."""
    from llama_index.core import SimpleDirectoryReader
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.storage.docstore import SimpleDocumentStore
    from llama_index.vector_stores.chroma import ChromaVectorStore

    class Hash(BaseEmbedding):
        count: int = 0

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            self.count += len(texts)
            return hash_vectors(texts, DIMENSIONS).tolist()

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embeddings([query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    embedder = Hash(embed_batch_size=100)
    splitter = SentenceSplitter(chunk_size=CHUNK_TOKENS, chunk_overlap=0)
    collection = _chroma(store).get_or_create_collection("documents")

    def ingest() -> int:
        state = store / "pipeline"
        pipeline = IngestionPipeline(
            transformations=[splitter, embedder],
            docstore=SimpleDocumentStore(),
            vector_store=ChromaVectorStore(chroma_collection=collection),
            docstore_strategy=DocstoreStrategy.UPSERTS,
        )
        if state.exists():
            pipeline.load(str(state))
        documents = SimpleDirectoryReader(str(files), filename_as_id=True).load_data()
        pipeline.run(documents=documents)
        pipeline.persist(str(state))
        return embedder.count

    return ingest


def lang_chain(files: Path, store: Path) -> Ingestion:
    """Prepare `index()` with a record manager in SQLite and incremental cleanup, into Chroma."""
    from langchain_chroma import Chroma
    from langchain_classic.indexes import SQLRecordManager, index
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    class Hash(Embeddings):
        count = 0

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            self.count += len(texts)
            return hash_vectors(texts, DIMENSIONS).tolist()

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    embedder = Hash()
    target = Chroma(collection_name="documents", embedding_function=embedder, client=_chroma(store))
    records = SQLRecordManager("documents", db_url=f"sqlite:///{store}/records.db")
    records.create_schema()
    splitter = RecursiveCharacterTextSplitter(chunk_size=CHUNK_CHARACTERS, chunk_overlap=0)

    def ingest() -> int:
        documents = [
            Document(page_content=path.read_text(encoding="utf-8"), metadata={"source": path.name})
            for path in sorted(files.iterdir())
        ]
        chunks = splitter.split_documents(documents)
        index(
            chunks,
            records,
            target,
            cleanup="incremental",
            source_id_key="source",
            batch_size=BATCH,
            key_encoder="sha256",
        )
        return embedder.count

    return ingest


FRAMEWORKS: dict[str, Callable[[Path, Path], Ingestion]] = {
    "LlamaIndex + Chroma": llama_index,
    "LangChain + Chroma": lang_chain,
}


def _chroma(store: Path) -> Any:
    import chromadb

    return chromadb.PersistentClient(str(store / "chroma"), chromadb.Settings(anonymized_telemetry=False))


def main() -> None:
    """Ingest once."""
    name, files, store = sys.argv[1:]
    try:
        ingest = FRAMEWORKS[name](Path(files), Path(store))
    except ImportError as error:
        print(json.dumps({"missing": str(error)}))
        return
    begin, begin_processor = perf_counter(), process_time()
    embedded = ingest()
    print(
        json.dumps(
            {
                "wall_seconds": perf_counter() - begin,
                "processor_seconds": process_time() - begin_processor,
                "embedded": embedded,
            }
        )
    )


if __name__ == "__main__":
    main()
