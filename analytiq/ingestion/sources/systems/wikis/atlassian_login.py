"""Logins of Atlassian's services."""

import base64

from pydantic import Field, SecretStr, field_validator, model_validator

from analytiq.ingestion.sources.base import KindSchema


class AtlassianCredentials(KindSchema):
    """A user with an API token or password, or a personal access token alone."""

    user: str | None = Field(
        default=None,
        max_length=200,
        title="E-mail or user name",
        description="The e-mail of the account in the cloud; empty for a personal access token of a server",
    )
    token: SecretStr = Field(
        max_length=4000,
        title="Token",
        description="API token of the cloud, personal access token or password of a server",
    )

    @field_validator("token")
    @classmethod
    def _can_be_sent(cls, value: SecretStr) -> SecretStr:
        text = value.get_secret_value()
        if not text.strip() or not text.isprintable():
            raise ValueError("Must not be empty, and hold printable characters only")
        return value

    @model_validator(mode="after")
    def _is_a_header(self) -> "AtlassianCredentials":
        if self.user is None and not self.token.get_secret_value().isascii():
            raise ValueError("A token without a user must hold ASCII characters only")
        if self.user is not None and (":" in self.user or not self.user.isprintable()):
            raise ValueError("`user` must hold no colon and printable characters only")
        return self

    @property
    def authorization(self) -> str:
        """Return the header."""
        token = self.token.get_secret_value()
        if not self.user:
            return f"Bearer {token}"
        return f"Basic {base64.b64encode(f'{self.user}:{token}'.encode()).decode()}"
