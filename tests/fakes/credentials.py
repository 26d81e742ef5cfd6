"""Keys for fake providers on this machine."""

from pydantic import SecretStr

from analytiq.inference.credentials.providers import Credential


def credential_of(api_key: str, api_base: str | None = None, *, is_guarded: bool = False) -> Credential:
    return Credential(api_key=SecretStr(api_key), api_base=api_base, is_own=True, is_guarded=is_guarded)
