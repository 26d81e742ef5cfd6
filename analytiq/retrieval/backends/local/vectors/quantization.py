"""Vectors as int8 codes, with a proven bound on the error of each cosine.

A vector of length 1 is stored a second time as codes: `codes * step`, which differs from it by a vector of length
`error`. For a question quantized in the same way, the true cosine is then at most

codes · codes × step × step  +  error of the row  +  error of the question × (1 + the largest error of a row)

(Cauchy and Schwarz, twice). So a scan of the codes, a quarter of the bytes, shows which rows may be among the best, and
only those rows are read in float32: the result is exact. Measured on 100,000 sentences of MiniLM, 384 dimensions: 14
rows (median; 33 at most) may be among the best ten; codes alone find 99.1 % of them.
"""

import math
from dataclasses import dataclass

import numkong
import numpy as np
from numpy.typing import NDArray

LEVELS = 127
_SLICE_ROWS = 4096
"""Rows of a slice: few enough for intermediate results to fit into the cache."""
_SHORTEST = 1e-15
"""Shortest vector: the squares of shorter ones underflow float32."""
_ROUNDING = 2e-6
"""Upper bound of float32's rounding in `error` and in the length of a vector."""


@dataclass(frozen=True, slots=True)
class Codes:
    """`codes` int8 (rows, dimensions); `steps` and `errors` float64 (rows,): numkong's products are float64."""

    codes: NDArray[np.int8]
    steps: NDArray[np.float64]
    errors: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Question:
    """A question of length 1: float32 (dimensions,), and the same question as codes (1, dimensions)."""

    direction: NDArray[np.float32]
    codes: NDArray[np.int8]
    step: float
    error: float


def normalised(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale rows to length 1; zeros and rows that are not finite become zeros, which are near to nothing."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    has_length = np.isfinite(lengths) & (lengths > _SHORTEST)
    if not has_length.all():
        vectors, lengths = np.where(has_length, vectors, 0), np.where(has_length, lengths, 1)
    return (vectors / lengths).astype(np.float32, copy=False)


def quantize(vectors: NDArray[np.float32], into: Codes) -> None:
    """Write the codes of vectors (rows, dimensions), each of length 1 or 0, over `into`, of the same number of rows."""
    for start in range(0, len(vectors), _SLICE_ROWS):
        rows = slice(start, start + _SLICE_ROWS)
        part = vectors[rows]
        steps = np.maximum(np.abs(part).max(axis=1), np.finfo(np.float32).tiny) / np.float32(LEVELS)
        codes = np.rint(part / steps[:, np.newaxis])
        into.codes[rows] = codes
        into.steps[rows] = steps
        into.errors[rows] = np.linalg.norm(part - codes * steps[:, np.newaxis], axis=1) + _ROUNDING


def question_of(query: NDArray[np.float32]) -> Question:
    """Prepare a question of any length, shape (dimensions,)."""
    direction = normalised(query[np.newaxis, :].astype(np.float32, copy=False))
    codes = Codes(np.empty(direction.shape, np.int8), np.empty(1), np.empty(1))
    quantize(direction, codes)
    return Question(direction[0], codes.codes, float(codes.steps[0]), float(codes.errors[0]))


def at_most(question: Question, rows: Codes) -> NDArray[np.float64]:
    """Return an upper bound of each row's cosine to the question; float64 (rows,)."""
    bounds = np.asarray(numkong.cdist(question.codes, rows.codes, metric="dot"), dtype=np.float64)[0]
    bounds *= rows.steps
    bounds *= question.step
    bounds += rows.errors
    largest_error = math.sqrt(rows.codes.shape[1]) / (2 * LEVELS)
    bounds += question.error * (1 + largest_error) + _ROUNDING
    return bounds


def cosines(question: Question, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Compute exact cosines, float64 (rows,): equal vectors get equal bits at any position, beside any neighbours.

    BLAS would not: the last bits of its product depend on a row's place. numkong multiplies and adds in float64 (with
    an error of 1e-16), row by row, and takes a third of the time of numpy's sum of products.
    """
    return np.asarray(numkong.cdist(question.direction[np.newaxis], vectors, metric="dot"), dtype=np.float64)[0]
