"""Check of the secret key against the stored keys of providers.

The stored keys themselves are tried: a separate check value could exist without them, and they without it.
"""

from dataclasses import dataclass

from analytiq.errors import AccessDeniedError
from analytiq.inference.credentials.encryption import Vault
from analytiq.storage.repositories.providers import ProviderRepository

BATCH = 100
REMEDY = (
    "give back the key that was there before (a copy of `secret.key`, or the ANALYTIQ_SECRET_KEY of then), or name it"
    " in ANALYTIQ_OLD_SECRET_KEYS and run `analytiq rotate-secret-key`; where it is lost, store those providers' keys"
    " anew: nothing else is lost"
)


@dataclass(frozen=True, slots=True)
class KeyCheck:
    """Counts of the readable stored keys, and the names of the providers with unreadable ones."""

    readable: int
    unreadable: int
    providers: tuple[str, ...]

    @property
    def problem(self) -> str | None:
        """The problem as a sentence without its full stop, or None."""
        if not self.unreadable:
            return None
        total = self.readable + self.unreadable
        return (
            f"{self.unreadable} of {total} stored provider keys ({', '.join(self.providers)}) were encrypted with"
            " another secret key than this one, and every call that needs them is refused"
        )


async def check_secret_key(rows: ProviderRepository, vault: Vault) -> KeyCheck:
    """Try every stored key of a provider, the platform's and the organizations'; nothing is written or shown."""
    readable, unreadable, after = 0, list[str](), None
    while providers := await rows.page_of_all(after, BATCH):
        for provider in providers:
            try:
                vault.decrypt(provider.token)
                readable += 1
            except AccessDeniedError:
                unreadable.append(provider.litellm_provider)
        after = providers[-1].id
    return KeyCheck(readable, len(unreadable), tuple(sorted(set(unreadable))))
