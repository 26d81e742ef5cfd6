"""Starts a process: connects, migrates, checks the secret key, and has everything put together."""

import structlog

from analytiq.composition.application import Application
from analytiq.composition.composing import compose
from analytiq.errors import InvalidInputError
from analytiq.inference.credentials.encryption import Vault
from analytiq.inference.credentials.key_check import REMEDY, check_secret_key
from analytiq.inference.credentials.platform_keys import PlatformKeys
from analytiq.inference.providers.default_models import DefaultModels
from analytiq.ingestion.parsing.isolation import refuse_readable_data
from analytiq.settings import Settings, provider_keys_from_environment
from analytiq.storage.client import MongoConnection, connect
from analytiq.storage.migrations import migrate
from analytiq.storage.repositories.providers import ProviderRepository
from analytiq.storage.repositories.workers import RuntimeSettingRepository

log = structlog.get_logger(__name__)


async def bootstrap(settings: Settings, *, follows_environment: bool = False) -> Application:
    """Connect, migrate, and put everything together.

    Args:
        settings: the process's.
        follows_environment: for the API alone, of whose environment the platform's keys of providers and the default
            models are taken: processes that were started with another one must not undo it.

    Raises:
        InvalidInputError: a setting is missing or wrong; says which, and how to make one.
        TransientError: MongoDB cannot be reached.
    """
    if settings.mongo.uri is None:
        raise InvalidInputError(
            "MONGODB_URI is not set; set it to a replica set's address, or run `analytiq up`, which brings a"
            " database of its own",
            code="mongo_uri_missing",
        )
    if settings.extraction.isolation != "off":
        refuse_readable_data(settings.data_dir, extra=settings.extraction.readable_paths)
    if settings.secret_key is None:
        raise InvalidInputError(
            "ANALYTIQ_SECRET_KEY is not set; it encrypts the keys of embedding providers. Make one with"
            " `analytiq secret-key`, keep it safe, and give the same one to every process",
            code="secret_key_missing",
        )
    vault = Vault(settings.secret_key, settings.old_secret_keys)
    connection = await connect(settings.mongo.uri, settings.mongo.database)
    applied = await migrate(connection)
    if applied:
        log.info("mongo.migrated", steps=applied)
    problem = (await check_secret_key(ProviderRepository(connection), vault)).problem
    if problem is not None:
        log.warning("credentials.secret_key_differs", detail=problem, remedy=REMEDY)
    application = await compose(settings, connection, vault)
    if follows_environment:
        await _follow_environment(application, connection, vault)
    return application


async def _follow_environment(application: Application, connection: MongoConnection, vault: Vault) -> None:
    settings = application.settings
    changes = await PlatformKeys(ProviderRepository(connection), vault).follow(provider_keys_from_environment())
    kept = await DefaultModels(RuntimeSettingRepository(connection)).keep(
        embedding=settings.embedding.default_model, chat=settings.llm.default_model
    )
    for default in kept:
        log.warning("models.default_changed", variable=default.variable, before=default.before, now=default.now)

    async def resume() -> None:
        for change in changes:
            await application.provider_recovery.platform_changed(
                change.litellm_provider, is_address_new=change.is_address_new
            )

    if changes:
        application.in_background(resume())
