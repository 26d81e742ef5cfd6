"""Client calls for an organization's own settings and its storage."""

from collections.abc import Sequence

from analytiq.client.connection import Connection
from analytiq.client.organization_models import OrganizationSettings, RateLimits, Storage, Vision


class OrganizationSettingCalls(Connection):
    """OCR languages, rate limits, the vision model, skipped text, storage."""

    def settings(self) -> OrganizationSettings:
        """Return the organization's settings, the server's, and the available choices."""
        return OrganizationSettings.model_validate_json(self._transport.call("GET", "/settings"))

    def set_ocr_languages(self, languages: Sequence[str] | None) -> OrganizationSettings:
        """Set the OCR languages (Tesseract's codes); None: the server's."""
        body = {"ocr_languages": None if languages is None else list(languages)}
        return OrganizationSettings.model_validate_json(self._transport.call("PUT", "/settings", json=body))

    def set_rate_limits(self, limits: RateLimits | None) -> OrganizationSettings:
        """Set limits per minute below the server's; None: the server's."""
        body = {"rate_limits": None if limits is None else limits.model_dump(mode="json")}
        return OrganizationSettings.model_validate_json(self._transport.call("PUT", "/settings", json=body))

    def set_vision(self, vision: Vision | None) -> OrganizationSettings:
        """Set the vision model and its tasks; None: off."""
        body = {"vision": None if vision is None else vision.model_dump(mode="json")}
        return OrganizationSettings.model_validate_json(self._transport.call("PUT", "/settings", json=body))

    def skip_flawed_text(self, kinds: Sequence[str] | None) -> OrganizationSettings:
        """Leave text with flaws of these kinds out of knowledge bases; None: index all text.

        Kinds: `noise`, `misdecoded`, `machine_text` and `visual_order`. Documents with such text are indexed again.
        """
        body = {"skipped_flaws": None if kinds is None else list(kinds)}
        return OrganizationSettings.model_validate_json(self._transport.call("PUT", "/settings", json=body))

    def storage(self) -> Storage:
        """Return the organization's storage quota and usage."""
        return Storage.model_validate_json(self._transport.call("GET", "/storage"))
