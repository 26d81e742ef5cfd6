"""Keys of providers are stored encrypted, and only the same secret reads them."""

import pytest
from pydantic import SecretStr

from analytiq.errors import AccessDeniedError, InvalidInputError
from analytiq.inference.credentials.encryption import Vault, new_secret_key

SECRET = SecretStr("sk-é-secret")


def vault() -> Vault:
    return Vault(SecretStr(new_secret_key()))


def test_secret_comes_back_and_its_token_shows_nothing_of_it() -> None:
    own = vault()
    token = own.encrypt(SECRET)
    assert own.decrypt(token) == SECRET
    assert "secret" not in token
    assert own.encrypt(SECRET) != token  # the same key twice is not seen to be the same


def test_other_secret_key_reads_nothing_and_says_what_to_do() -> None:
    token = vault().encrypt(SECRET)
    with pytest.raises(AccessDeniedError, match="ANALYTIQ_SECRET_KEY") as caught:
        vault().decrypt(token)
    assert caught.value.code == "secret_key_changed"


def test_token_that_was_tampered_with_is_refused() -> None:
    own = vault()
    token = own.encrypt(SECRET)
    for broken in (token[:-4], "", token.swapcase()):
        with pytest.raises(AccessDeniedError):
            own.decrypt(broken)


@pytest.mark.parametrize("key", ["", "short", "x" * 44, "ü" * 44])
def test_what_is_no_key_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Vault(SecretStr(key))
    assert "secret-key" in caught.value.detail
    assert not key or key not in caught.value.detail
