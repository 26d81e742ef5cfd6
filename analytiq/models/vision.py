"""An organization's choice of a vision model, and of its tasks."""

from analytiq.models.stored import Stored


class VisionSettings(Stored):
    """The vision model and its tasks; all are off by default, since each picture costs a call."""

    model: str | None = None
    """LiteLLM's model string, called with the organization's own key."""
    describe_figures: bool = False
    read_pages: bool = False
    """Read the pages that OCR reads badly."""
