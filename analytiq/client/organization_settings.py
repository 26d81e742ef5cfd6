"""Calls about what an organization sets for itself, and what it stores."""

from collections.abc import Sequence

from analytiq.client.connection import Connection
from analytiq.client.organization_models import OrganizationSettings, RateLimits, Storage


class OrganizationSettingCalls(Connection):
    """OCR languages, rate limits, storage."""

    def settings(self) -> OrganizationSettings:
        """Return the organization's settings, the server's, and the available choices."""
        return OrganizationSettings.model_validate_json(self._transport.call("GET", "/settings"))

    def set_ocr_languages(self, languages: Sequence[str] | None) -> OrganizationSettings:
        """Read pictures of text in these languages (Tesseract's codes); None: in the server's."""
        body = {"ocr_languages": None if languages is None else list(languages)}
        return OrganizationSettings.model_validate_json(self._transport.call("PUT", "/settings", json=body))

    def set_rate_limits(self, limits: RateLimits | None) -> OrganizationSettings:
        """Let less through in a minute than the server would; None: as much as the server does."""
        body = {"rate_limits": None if limits is None else limits.model_dump(mode="json")}
        return OrganizationSettings.model_validate_json(self._transport.call("PUT", "/settings", json=body))

    def storage(self) -> Storage:
        """Return the organization's storage quota and usage."""
        return Storage.model_validate_json(self._transport.call("GET", "/storage"))
