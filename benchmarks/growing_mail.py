"""Made e-mails, mailboxes and notebooks of any size, for `growing_files`."""

import json
from email.message import EmailMessage

from benchmarks.growing_texts import repeated_base64
from benchmarks.growing_units import SENTENCE, Make, counted, nested, repeated


def mail(size: int) -> bytes:
    """Make a message with a plain and an HTML body."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@example.org", "b@example.org", "Prices"
    message.set_content(f"{SENTENCE}\n" * max(1, size // 200))
    message.add_alternative(f"<p>{SENTENCE}</p>\n" * max(1, size // 210), subtype="html")
    return message.as_bytes()


def notebook(size: int) -> bytes:
    """Make a notebook of cells of 300 bytes."""
    cells: list[object] = [
        {"cell_type": "code" if number % 2 else "markdown", "metadata": {}, "outputs": [], "source": [SENTENCE] * 3}
        for number in range(max(1, size // 400))
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def attachment(size: int) -> bytes:
    """Make a message with an attached text."""
    message = EmailMessage()
    message["From"], message["Subject"] = "a@example.org", "Prices"
    message.set_content("See the attachment.")
    message.add_attachment(f"{SENTENCE}\n" * (size // 131), filename="prices.txt")
    return message.as_bytes()


MAIL: dict[str, Make] = {
    "message.eml": mail,
    "headers.eml": counted(
        "X-Header-{n}: value\n", before="From: a@example.org\nTo: b@example.org\n", after="\nBody.\n"
    ),
    "received.eml": repeated("Received: from a by b\n", before="From: a@example.org\n", after="\nBody.\n"),
    "folded.eml": repeated(" word\n", before="From: a@example.org\nSubject: a\n", after="\nBody.\n"),
    "addresses.eml": counted(
        "a{n}@example.org, ", before="From: a@example.org\nTo: ", after="b@example.org\n\nBody.\n"
    ),
    "parts.eml": repeated(
        "--b\nContent-Type: text/plain\n\nword\n",
        before='From: a@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n',
        after="--b--\n",
    ),
    "nested parts.eml": lambda size: (
        "From: a@example.org\nMIME-Version: 1.0\n"
        + "".join(f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(size // 60))
        + "Content-Type: text/plain\n\nword\n"
    ).encode(),
    "encoded words.eml": repeated("=?utf-8?q?a?= ", before="From: a@example.org\nSubject: ", after="\n\nBody.\n"),
    "quoted.eml": repeated("> > > word\n", before="From: a@example.org\n\n"),
    "cells.ipynb": notebook,
    "one output.ipynb": lambda size: json.dumps(
        {
            "cells": [
                {
                    "cell_type": "code",
                    "metadata": {},
                    "source": "a",
                    "outputs": [{"output_type": "stream", "name": "stdout", "text": SENTENCE * (size // 96)}],
                }
            ],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    ).encode(),
    "one header.eml": repeated("word ", before="From: a@example.org\nSubject: ", after="\n\nBody.\n"),
    "one line.eml": repeated(SENTENCE, before="From: a@example.org\nSubject: a\n\n"),
    "one line html.eml": repeated(SENTENCE, before="From: a@example.org\nContent-Type: text/html\n\n<p>"),
    "base64.eml": lambda size: (
        b"From: a@example.org\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\n" + repeated_base64(size)
    ),
    "attachment.eml": attachment,
    "forwarded.eml": lambda size: (
        "".join(
            f'From: a@example.org\nContent-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n'
            "Content-Type: message/rfc822\n\n"
            for n in range(size // 100)
        )
        + "From: b@example.org\n\nword\n"
    ).encode(),
    "parameters.eml": counted(
        "; a*{n}=word", before="From: a@example.org\nContent-Type: text/plain", after="\n\nBody.\n"
    ),
    "quoted printable.eml": repeated(
        "=C3=A9", before="From: a@example.org\nContent-Transfer-Encoding: quoted-printable\n\n"
    ),
    "comments.eml": nested("(", "a", ")", before="From: a@example.org\nTo: ", after="\n\nBody.\n"),
    "messages.mbox": repeated(
        f"From a@example.org Tue Mar  5 10:00:00 2024\nFrom: a@example.org\nSubject: Pumps\n\n{SENTENCE * 3}\n\n"
    ),
    "from.mbox": repeated("00:00 ", before="From a Tue Mar  5 10:00:00 2024\nSubject: a\n\nFrom ", after="\n"),
    "from lines.mbox": repeated("From a 10:00\n\n", before="From a Tue Mar  5 10:00:00 2024\nSubject: a\n\n"),
    "small cells.ipynb": lambda size: json.dumps(
        {
            "cells": [{"cell_type": "code", "source": "a", "outputs": [], "metadata": {}}] * (size // 70),
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    ).encode(),
}
