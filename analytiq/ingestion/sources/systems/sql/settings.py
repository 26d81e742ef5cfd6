"""The settings of a database source, and the form of its query."""

import re
import ssl
from typing import Literal

from pydantic import Field, SecretStr, field_validator, model_validator

from analytiq.ingestion.sources.base import SEVERAL_LINES, KindSchema

LONGEST_QUERY = 20_000
DatabaseKind = Literal["postgresql", "mysql"]
PORTS: dict[DatabaseKind, int] = {"postgresql": 5432, "mysql": 3306}
_LONGEST_NAME = 200
# An unclosed text or comment reaches to the end, so that each character is looked at once.
_QUOTED = re.compile(
    r"'(?:[^']|'')*'?|\"(?:[^\"]|\"\")*\"?|`[^`]*`?|--[^\n]*|/\*(?:.*?\*/|.*)|\$(\w*)\$(?:.*?\$\1\$|.*)", re.DOTALL
)
_SELECT = re.compile(r"\s*(?:select|with)\b", re.IGNORECASE)


class SqlSettings(KindSchema):
    """The settings of a database source."""

    database_kind: DatabaseKind = Field(
        default="postgresql", title="Kind of database", description="mysql: MySQL or MariaDB"
    )
    host: str = Field(min_length=1, max_length=253, title="Host", description="Such as db.example.com")
    port: int | None = Field(
        default=None, ge=1, le=65535, title="Port", description="Default: 5432 for PostgreSQL, 3306 for MySQL"
    )
    database: str = Field(min_length=1, max_length=_LONGEST_NAME, title="Database")
    user: str = Field(
        min_length=1, max_length=_LONGEST_NAME, title="User", description="One that may read only what it should"
    )
    tls: Literal["verify", "none"] = Field(
        default="verify",
        title="Encryption",
        description="verify: TLS, with a certificate for the host. none: only for hosts that the operator allows",
    )
    ca_certificate: str = Field(
        default="",
        max_length=200_000,
        title="Certificate authority",
        json_schema_extra=SEVERAL_LINES,
        description="PEM text, if the server's certificate is from an authority of your own or of your provider",
    )
    query: str = Field(
        min_length=1,
        max_length=LONGEST_QUERY,
        title="Query",
        json_schema_extra=SEVERAL_LINES,
        description="One SELECT, without ORDER BY. It runs in a read-only transaction",
    )
    key_columns: tuple[str, ...] = Field(
        min_length=1,
        max_length=8,
        title="Key columns",
        description="They identify a document. Rows with the same values become one document",
    )
    title_column: str | None = Field(default=None, max_length=_LONGEST_NAME, title="Title column")
    text_columns: tuple[str, ...] = Field(
        default=(), max_length=200, title="Text columns", description="Each becomes a section. Left empty: all columns"
    )
    template: str = Field(
        default="",
        max_length=20_000,
        title="Template",
        description="Markdown for each row with {column} at the places of values, instead of text columns",
    )
    text_format: Literal["plain", "markdown"] = Field(
        default="plain", title="Format of texts", description="markdown: texts keep their own headings and lists"
    )
    metadata_columns: tuple[str, ...] = Field(
        default=(), max_length=100, title="Metadata columns", description="Fields for the source's metadata mapping"
    )
    updated_column: str | None = Field(
        default=None,
        max_length=_LONGEST_NAME,
        title="Updated column",
        description="Time or number that grows with each change: most runs then read changed rows only",
    )
    overlap_seconds: int = Field(
        default=600,
        ge=0,
        le=7 * 86_400,
        title="Overlap in seconds",
        description="Seconds before the last change at which a run begins, for transactions that took long",
    )
    timeout_seconds: int = Field(
        default=60, ge=1, le=600, title="Time limit in seconds", description="Of the query, in the database"
    )

    @field_validator("host")
    @classmethod
    def _is_host(cls, value: str) -> str:
        host = value.strip()
        if not host.isascii() or not host.isprintable() or any(letter in host for letter in " /@"):
            raise ValueError("Must be the name or address of a host, without user and path")
        return host

    @field_validator("database", "user")
    @classmethod
    def _is_printable(cls, value: str) -> str:
        if not value.isprintable():
            raise ValueError("Must be printable")
        return value

    @field_validator("ca_certificate")
    @classmethod
    def _is_certificate(cls, value: str) -> str:
        if value.strip():
            try:
                ssl.create_default_context(cadata=value)
            except (ssl.SSLError, ValueError):
                raise ValueError("Must be a certificate as PEM text") from None
        return value.strip()

    @field_validator("query")
    @classmethod
    def _is_one_select(cls, value: str) -> str:
        query = value.strip().rstrip(";").rstrip()
        require_select(query)
        return query

    @field_validator("title_column", "updated_column")
    @classmethod
    def _is_named(cls, value: str | None) -> str | None:
        return value or None

    @model_validator(mode="after")
    def _has_one_layout(self) -> "SqlSettings":
        if self.template and self.text_columns:
            raise ValueError("Give text columns or a template, not both")
        return self

    @property
    def given_port(self) -> int:
        """The port of the server."""
        return self.port or PORTS[self.database_kind]


class SqlCredentials(KindSchema):
    """The secret of the database's user."""

    password: SecretStr = Field(title="Password")


def require_select(query: str) -> None:
    """Check the form of a query. What it may do is up to the database, which runs it in a read-only transaction.

    Raises:
        ValueError: it is not one SELECT.
    """
    if "\0" in query:
        raise ValueError("Must have no NUL character")
    bare = _QUOTED.sub(" ", query)
    if not _SELECT.match(bare.lstrip(" (\n\t\r")):
        raise ValueError("Must be one SELECT: it begins with SELECT or WITH")
    if ";" in bare:
        raise ValueError("Must be one SELECT, without a semicolon between statements")
    depth = 0
    for letter in bare:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            break
    if depth:
        raise ValueError("Must be one SELECT with matching parentheses")
