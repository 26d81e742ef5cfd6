"""The grammar of models' names: a name, and never an address.

LiteLLM interprets URLs in some providers' model names as the address to call, and puts names into paths.
"""

import ipaddress
import re

from analytiq.errors import InvalidInputError

LONGEST_MODEL_NAME = 200
_PART = r"[A-Za-z0-9@_](?:[A-Za-z0-9@_:.+-]*[A-Za-z0-9@_])?"
_GRAMMAR = re.compile(rf"{_PART}(?:/{_PART})*")
_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_TWO_DOTS = ".."


def check_model_name(model: str, *, field: str) -> str:
    """Return a valid name unchanged.

    Raises:
        InvalidInputError: the name is an address, or has invalid characters or length.
    """
    if not is_model_name(model):
        raise _refused(model, field)
    return model


def is_model_name(text: str) -> bool:
    """Return True if a text can be a model's name."""
    if len(text) > LONGEST_MODEL_NAME or not _GRAMMAR.fullmatch(text) or _TWO_DOTS in text:
        return False
    return not any(_is_host(part) for part in text.split("/"))


def _is_host(part: str) -> bool:
    """Return True if a part of a name is an IP address or this machine, with or without a port."""
    lowered = part.lower()
    host = lowered.rpartition(":")[0] if lowered.count(":") == 1 else lowered
    if lowered.startswith(("http:", "https:")) or host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host.count(".") == 3 and _NUMBERS.fullmatch(host) is not None
    return True


def _refused(model: str, field: str) -> InvalidInputError:
    shown = model if len(model) <= LONGEST_MODEL_NAME else model[:LONGEST_MODEL_NAME] + "…"
    return InvalidInputError.of_field(
        field,
        f"{shown!r} is not a model name. A name has at most {LONGEST_MODEL_NAME} letters, digits and . _ - : @ + in"
        " parts separated by single slashes, for example openai/my-model, and holds no address: the address of a"
        " server belongs into the provider's api_base.",
        code="invalid_model_name",
    )
