"""Mail by SMTP, if configured."""

import asyncio
import smtplib
import ssl
from email.message import EmailMessage

import structlog

from analytiq.errors import TransientError
from analytiq.settings import SmtpSettings

log = structlog.get_logger(__name__)

TIMEOUT_SECONDS = 20.0


class Mail:
    """Sends messages; without settings `is_configured` is false and nothing is sent."""

    def __init__(self, settings: SmtpSettings | None) -> None:
        self._settings = settings

    @property
    def is_configured(self) -> bool:
        """Return whether mail can be sent."""
        return self._settings is not None

    async def send(self, to: str, subject: str, text: str) -> None:
        """Send a message.

        Raises:
            TransientError: no mail server is configured, or it did not take the message.
        """
        if self._settings is None:
            raise TransientError(
                "No mail server is configured. Set ANALYTIQ_ACCOUNTS__SMTP__HOST.", code="mail_unavailable"
            )
        message = EmailMessage()
        message["From"] = self._settings.sender
        message["To"] = to
        message["Subject"] = subject
        message.set_content(text)
        try:
            await asyncio.to_thread(_send, self._settings, message)
        except (OSError, smtplib.SMTPException) as error:
            log.warning("accounts.mail_not_sent", server=self._settings.host, error=type(error).__name__)
            raise TransientError(
                f"The mail server {self._settings.host} did not take the message. Ask an operator for a link"
                " by `analytiq user reset`.",
                code="mail_unavailable",
            ) from error


def _send(settings: SmtpSettings, message: EmailMessage) -> None:
    with smtplib.SMTP(settings.host, settings.port, timeout=TIMEOUT_SECONDS) as server:
        if settings.uses_starttls:
            server.starttls(context=ssl.create_default_context())
        if settings.username is not None and settings.password is not None:
            server.login(settings.username, settings.password.get_secret_value())
        server.send_message(message)
