"""A mail server that keeps what it is sent: SMTP (RFC 5321) as far as a client needs it. Only a test tool."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage


@dataclass(slots=True)
class MailServer:
    """`refuses` makes it answer 554 to every message."""

    port: int = 0
    refuses: bool = False
    messages: list[EmailMessage] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client."""
        writer.write(b"220 fake\r\n")
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                match line.split(None, 1)[0].upper() if line.split() else b"":
                    case b"EHLO" | b"HELO" | b"MAIL" | b"RCPT" | b"RSET":
                        writer.write(b"250 ok\r\n")
                    case b"DATA":
                        writer.write(b"354 go on\r\n")
                        body = await reader.readuntil(b"\r\n.\r\n")
                        writer.write(b"554 no\r\n" if self.refuses else b"250 ok\r\n")
                        if not self.refuses:
                            message = message_from_bytes(body, policy=policy.default)
                            assert isinstance(message, EmailMessage)
                            self.messages.append(message)
                            self.arrived.set()
                    case b"QUIT":
                        writer.write(b"221 bye\r\n")
                        break
                    case _:
                        writer.write(b"500 unknown\r\n")
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def mail_server() -> AsyncGenerator[MailServer]:
    """A running one."""
    kept = MailServer()
    server = await asyncio.start_server(kept.serve, "127.0.0.1", 0)
    kept.port = server.sockets[0].getsockname()[1]
    async with server:
        yield kept
