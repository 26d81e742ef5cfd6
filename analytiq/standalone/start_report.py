"""Changes that the environment of `analytiq up` makes to provider keys and default models, in sentences."""

from pydantic import SecretStr

from analytiq.inference.credentials.encryption import Vault
from analytiq.inference.credentials.platform_keys import KeyChange, PlatformKeyChange, PlatformKeys
from analytiq.inference.providers.default_models import DefaultChange, DefaultModels
from analytiq.settings import PROVIDER_KEY_VARIABLES, Settings, provider_keys_from_environment
from analytiq.storage.client import connect
from analytiq.storage.repositories.providers import ProviderRepository
from analytiq.storage.repositories.workers import RuntimeSettingRepository


async def changes_of_start(uri: SecretStr, settings: Settings, vault: Vault) -> list[str]:
    """Return a sentence for each key and each default model that the API's start is about to change."""
    connection = await connect(uri, settings.mongo.database)
    try:
        wanted = provider_keys_from_environment()
        keys = await PlatformKeys(ProviderRepository(connection), vault).plan(wanted)
        defaults = await DefaultModels(RuntimeSettingRepository(connection)).plan(
            embedding=settings.embedding.default_model, chat=settings.llm.default_model
        )
    finally:
        await connection.close()
    told = [_of_key(change, wanted.get(change.litellm_provider, (None, None))[1]) for change in keys]
    return [*told, *map(_of_default, defaults)]


def _of_key(change: PlatformKeyChange, address: str | None) -> str:
    provider = change.litellm_provider
    variable = PROVIDER_KEY_VARIABLES.get(provider, provider)
    match change.change:
        case KeyChange.STORED:
            return (
                f"{variable} is set: its key of {provider} is stored for all organizations. Knowledge bases use it only"
                " where one of its models is named for them, or is the default."
            )
        case KeyChange.REPLACED:
            where = address or "the provider's own address"
            moved = f" Its models are called at {where} from now on." if change.is_address_new else ""
            return f"{variable} or its address has changed: the stored key of {provider} is replaced.{moved}"
        case KeyChange.REMOVED:
            return f"{variable} is not set any more: the stored key of {provider} is removed."
        case KeyChange.KEPT:
            return (
                f"{variable} differs from the key that `analytiq providers platform put {provider}` has stored, which"
                f" counts. `analytiq providers platform delete {provider}` lets the environment count again."
            )


def _of_default(change: DefaultChange) -> str:
    before = f" (it was {change.before})" if change.before else ""
    return f"{change.variable}: {change.now} is the default from now on{before}. It is kept for later starts."
