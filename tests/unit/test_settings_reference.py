"""The reference names every setting."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from analytiq.settings import Settings

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


def variables(model: type[BaseModel], prefix: str = "ANALYTIQ_") -> Iterator[str]:
    for name, field in model.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            yield from variables(section, f"{prefix}{name.upper()}__")
        else:
            yield f"{prefix}{name.upper()}"


def test_every_setting_is_in_the_reference() -> None:
    text = REFERENCE.read_text()
    missing = [name for name in variables(Settings) if f"`{name}`" not in text]
    assert missing == []
    assert len(list(variables(Settings))) > 30
