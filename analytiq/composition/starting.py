"""Start of a process: connects, migrates, checks the secret key, and composes the services."""

import structlog

from analytiq.composition.inference import new_vault
from analytiq.composition.services import Services
from analytiq.errors import InvalidInputError
from analytiq.inference.credentials.key_check import REMEDY, check_secret_key
from analytiq.inference.credentials.platform_keys import PlatformKeys
from analytiq.ingestion.parsing.isolation import refuse_readable_data
from analytiq.settings import Settings, provider_keys_from_environment
from analytiq.storage.client import connect
from analytiq.storage.migrations import migrate

log = structlog.get_logger(__name__)


async def bootstrap(settings: Settings, *, follows_environment: bool = False) -> Services:
    """Connect, migrate, and compose the services.

    Args:
        settings: the process's settings.
        follows_environment: True for the API alone, whose environment sets the platform's provider keys and default
            models: processes with another environment must not undo it.

    Raises:
        InvalidInputError: a setting is missing or invalid; names it, and how to set it.
        TransientError: MongoDB cannot be reached.
    """
    if settings.mongo.uri is None:
        raise InvalidInputError(
            "MONGODB_URI is not set. Set it to a replica set's address, or run `analytiq up`, which brings its"
            " own database.",
            code="mongo_uri_missing",
        )
    if settings.extraction.isolation != "off":
        refuse_readable_data(settings.data_dir, extra=settings.extraction.readable_paths)
    vault = new_vault(settings)
    connection = await connect(settings.mongo.uri, settings.mongo.database)
    services = Services(settings, connection)
    applied = await migrate(connection)
    if applied:
        log.info("mongo.migrated", steps=applied)
    problem = (await check_secret_key(services.repositories.providers, vault)).problem
    if problem is not None:
        log.warning("credentials.secret_key_differs", detail=problem, remedy=REMEDY)
    await services.prepare()
    if follows_environment:
        await _follow_environment(services)
    return services


async def _follow_environment(services: Services) -> None:
    settings, inference = services.settings, services.inference
    keys = PlatformKeys(services.repositories.providers, inference.vault)
    changes = await keys.follow(provider_keys_from_environment())
    kept = await inference.default_models.keep(
        embedding=settings.embedding.default_model, chat=settings.llm.default_model
    )
    for default in kept:
        log.warning("models.default_changed", variable=default.variable, before=default.before, now=default.now)

    async def resume() -> None:
        for change in changes:
            await inference.provider_recovery.platform_changed(
                change.litellm_provider, is_address_new=change.is_address_new
            )

    if changes:
        services.in_background(resume())
