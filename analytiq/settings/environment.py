"""Read the settings from the environment, and prepare the environment of child processes."""

import difflib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args

from pydantic import BaseModel, SecretStr, ValidationError

from analytiq.settings.provider_keys import PROVIDER_KEY_VARIABLES
from analytiq.settings.tree import PREFIX, Settings

MAX_SECRET_CHARACTERS = 64 * 1024

_NOT_SETTINGS = (f"{PREFIX}TEST_", f"{PREFIX}HYPOTHESIS", f"{PREFIX}PYTHON", f"{PREFIX}API_URL", f"{PREFIX}PUBLISHED_")
"""Prefixes of variables of the tests, the Makefile, the UI's development server and the compose file."""


class SettingsError(ValueError):
    """An unusable environment variable; the message says which one, why, and what to do."""


def read_settings() -> Settings:
    """Read the environment once; `MONGODB_URI` applies if `ANALYTIQ_MONGO__URI` is not set.

    Raises:
        SettingsError: a variable's value is not valid, or a file of secrets cannot be read.
    """
    _read_secret_files()
    _refuse_unknown_variables()
    try:
        settings = Settings()
    except ValidationError as error:
        # Leave the values out: one of them may be a secret.
        wrong = [f"ANALYTIQ_{'__'.join(map(str, item['loc'])).upper()}: {item['msg']}" for item in error.errors()]
        raise SettingsError(f"The environment has settings that cannot be read: {'; '.join(wrong)}.") from None
    uri = os.environ.get("MONGODB_URI")
    if settings.mongo.uri is None and uri:
        mongo = settings.mongo.model_copy(update={"uri": SecretStr(uri)})
        settings = settings.model_copy(update={"mongo": mongo})
    return settings


def _refuse_unknown_variables() -> None:
    """Refuse unknown variables with the prefix of settings: pydantic refuses misspelt names below the top only.

    Raises:
        SettingsError: names each variable, and the likely intended one.
    """
    known = {name.upper() for name in Settings.model_fields}
    wrong: list[str] = []
    for variable in sorted(os.environ):
        if not variable.startswith(PREFIX) or variable.startswith(_NOT_SETTINGS):
            continue
        name, *rest = variable.removeprefix(PREFIX).split("__")
        if name in known:
            continue
        if name.endswith("_FILE") and f"{PREFIX}{name.removesuffix('_FILE')}" in secret_variables():
            continue
        close = [key for key in known if name.startswith(f"{key}_")]
        if close:
            close = [f"{close[0]}__{name.removeprefix(close[0] + '_')}"]
        close = close or difflib.get_close_matches(name, known, n=1)
        meant = f" Is {PREFIX}{'__'.join([close[0], *rest])} meant?" if close else ""
        wrong.append(f"There is no setting {variable}.{meant}")
    if wrong:
        raise SettingsError(" ".join([*wrong, "The settings are listed in docs/reference/settings.md."]))


def read_settings_or_exit(process: str) -> Settings:
    """Read the environment in a process's main; an invalid setting ends the process with a sentence and status 1."""
    try:
        return read_settings()
    except SettingsError as error:
        sys.stderr.write(f"{process}: {error}\n")
        sys.exit(1)


def secret_variables() -> frozenset[str]:
    """Return the names of the variables that hold secrets; each may name a file instead, as `NAME_FILE`."""
    return frozenset({"MONGODB_URI", *PROVIDER_KEY_VARIABLES.values(), *_secrets_of(Settings, PREFIX)})


def _secrets_of(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        variable = f"{prefix}{name.upper()}"
        parts = (field.annotation, *get_args(field.annotation))
        if any(part is SecretStr or SecretStr in get_args(part) for part in parts):
            yield variable
        for part in parts:
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from _secrets_of(part, f"{variable}__")


def _read_secret_files() -> None:
    """Put the content of each file named by `NAME_FILE` into `NAME`, as container platforms mount secrets.

    Raises:
        SettingsError: the file cannot be read, is empty or large, or both variables are set.
    """
    for variable in secret_variables():
        path = os.environ.get(f"{variable}_FILE")
        if not path:
            continue
        if os.environ.get(variable):
            raise SettingsError(f"Both {variable} and {variable}_FILE are set. Keep one of them.")
        try:
            with Path(path).open(encoding="utf-8") as file:
                secret = file.read(MAX_SECRET_CHARACTERS + 1).strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise SettingsError(f"Cannot read {path}, which {variable}_FILE names: {reason}.") from None
        if not secret or len(secret) > MAX_SECRET_CHARACTERS:
            wrong = "is empty" if not secret else f"has more than {MAX_SECRET_CHARACTERS} characters"
            raise SettingsError(f"The file {path}, which {variable}_FILE names, {wrong}. Write the secret alone to it.")
        os.environ[variable] = secret
        del os.environ[f"{variable}_FILE"]


def metrics_directory_from_environment() -> str | None:
    """Return the directory of a machine's shared metrics; prometheus-client reads the variable itself."""
    return os.environ.get("PROMETHEUS_MULTIPROC_DIR")


def child_environment(additions: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with `additions`, for a child process."""
    return {**os.environ, **additions}
