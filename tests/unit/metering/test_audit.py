"""The books balance, or say where they do not; a unit test, since the library leaves no imbalance to be found."""

from typing import Any

from analytiq.storage.repositories.books import Books
from analytiq.tenancy.metering.audit import imbalances


def books(**changes: Any) -> Books:
    balanced: dict[str, Any] = {
        "cached": {("one", "model"): 5, ("two", "model"): 3},
        "removed": {},
        "charged": {("one", "model"): 5, ("two", "model"): 3},
        "used": {"one": 5, "two": 1},
        "unreleased": {"two": 2},
    }
    return Books(**{**balanced, **changes})


def test_balanced_books_have_nothing_to_say() -> None:
    assert imbalances(books()) == []


def test_embedding_that_nobody_paid_for_is_found() -> None:
    (found,) = imbalances(books(cached={("one", "model"): 6, ("two", "model"): 3}))
    assert found.organization_id == "one"
    assert "5 SPUs were charged for model, but 6" in found.detail
    assert not found.is_explained


def test_charge_without_its_embedding_is_found_and_may_be_explained() -> None:
    (found,) = imbalances(books(cached={("one", "model"): 5}))
    assert found.is_explained
    assert (found.organization_id, "3 SPUs were charged for model, but 0" in found.detail) == ("two", True)


def test_embedding_that_was_evicted_explains_its_charge() -> None:
    assert imbalances(books(cached={("one", "model"): 5}, removed={("two", "model"): 3})) == []
    (found,) = imbalances(books(removed={("one", "model"): 1}))
    assert not found.is_explained


def test_account_that_has_counted_another_sum_than_its_ledger_is_found() -> None:
    (found,) = imbalances(books(used={"one": 5, "two": 3}))
    assert found.organization_id == "two"
    assert "used 5 SPUs, but its ledger charges 3" in found.detail


def test_ledger_of_an_organization_that_was_erased_or_not_used_since_is_none_of_an_accounts() -> None:
    assert imbalances(books(used={"two": 1})) == []
