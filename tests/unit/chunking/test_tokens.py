import sys
from subprocess import run

import pytest

from analytiq.inference.tokens import (
    MAX_TOKENS_PER_CHARACTER,
    count_tokens,
    prefix_end,
    suffix_start,
    without_surrogates,
)


def test_counts_are_those_of_cl100k() -> None:
    assert count_tokens("") == 0
    assert count_tokens("hello world") == 2
    assert count_tokens("tiktoken is great!") == 6
    assert count_tokens("漢字") == 3


def test_special_tokens_are_counted_as_ordinary_text() -> None:
    assert count_tokens("<|endoftext|>") == 7


@pytest.mark.slow
def test_counting_imports_neither_litellm_nor_a_network_client() -> None:
    # A process of its own: here others may have imported LiteLLM already.
    program = (
        "import os, sys; before = dict(os.environ)\n"
        "from analytiq.inference.tokens import count_tokens\n"
        "assert count_tokens('hello world') == 2\n"
        "assert not {'litellm', 'httpx', 'requests'} & set(sys.modules), 'imported'\n"
        "assert dict(os.environ) == before, 'environment changed'\n"
    )
    result = run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("character", ["a", "漢", "\U0001f9ff", "\U00013000", "\U0010ffff", "\x00", "\ufffd"])
def test_no_character_takes_more_tokens_than_the_least_chunk_size(character: str) -> None:
    assert count_tokens(character) <= MAX_TOKENS_PER_CHARACTER


@pytest.mark.parametrize("text", ["plain words in a row " * 50, "漢字仮名" * 100, "👩‍👩‍👧" * 60, "z" * 900])
@pytest.mark.parametrize("max_tokens", [4, 7, 50])
def test_prefix_fits_and_hardly_more_would(text: str, max_tokens: int) -> None:
    end = prefix_end(text, 3, len(text), max_tokens)
    assert count_tokens(text[3:end]) <= max_tokens
    assert count_tokens(text[3 : end + 12]) > max_tokens


def test_prefix_is_everything_where_everything_fits() -> None:
    assert prefix_end("two words", 0, 9, 4) == 9
    blanks = "a" + " " * 10_000 + "b"
    assert prefix_end(blanks, 0, len(blanks), 400) == len(blanks)


@pytest.mark.parametrize("text", ["plain words in a row " * 50, "漢字仮名" * 100, "👩‍👩‍👧" * 60])
def test_suffix_holds_about_as_many_tokens_as_asked(text: str) -> None:
    start = suffix_start(text, 0, len(text), 20)
    assert 16 <= count_tokens(text[start:]) <= 21


def test_suffix_stops_at_the_floor() -> None:
    assert suffix_start("some words before and after", 5, 27, 500) == 5


def test_lone_surrogates_are_replaced_one_for_one() -> None:
    assert without_surrogates("a\ud800\udc00b") == "a\ufffd\ufffdb"
