"""Known prices of models, without a call to anybody."""

from analytiq.inference.embedding.prices import known_model


def test_price_and_dimensions_come_from_the_list_in_the_wheel() -> None:
    known = known_model("text-embedding-3-small")
    assert (known.token_usd, known.dimensions) == (2e-08, 1536)
    assert known_model("openai/text-embedding-3-small") == known
    assert known_model("openai/nobody-knows-it").token_usd is None


def test_local_model_costs_no_money() -> None:
    assert known_model("local/all-minilm-l6-v2").token_usd == 0
