"""The error of a sign-in that an OpenID Connect provider, or this installation, does not confirm."""

from analytiq.errors import AccessDeniedError


def refused(detail: str) -> AccessDeniedError:
    """Return the error; `detail` says what the person can do."""
    return AccessDeniedError(detail, code="oidc_refused")
