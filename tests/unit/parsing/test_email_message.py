from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest

from analytiq.errors import EncryptedFileError, LimitExceededError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.email_message import MAX_HEADER_CHARACTERS, PICTURE_BYTES, EmailParser
from analytiq.ingestion.parsing.formats import detect_content_type
from analytiq.models.text import ParsedDocument
from tests.unit.parsing.test_archives import unpacked

Parse = Callable[[bytes], ParsedDocument]


@pytest.fixture
def parse(tmp_path: Path) -> Parse:
    def parsed(data: bytes) -> ParsedDocument:
        path = tmp_path / "mail.eml"
        path.write_bytes(data)
        return EmailParser().parse(path, ParseOptions(), lambda done, total: None)

    return parsed


def message(text: str = "See you at noon.", **headers: str) -> EmailMessage:
    made = EmailMessage()
    for name, value in (
        {"Subject": "Lunch", "From": "Ann <ann@example.com>", "To": "bob@example.com"} | headers
    ).items():
        made[name] = value
    made.set_content(text)
    return made


def test_message_begins_with_its_subject_and_who_wrote_to_whom(parse: Parse) -> None:
    document = parse(message(Date="Tue, 01 Oct 2024 12:34:56 -0500", Cc="carol@example.com").as_bytes())
    assert document.pages[0].text == (
        "# Lunch\n\nFrom: Ann <ann@example.com>\nTo: bob@example.com\nCc: carol@example.com\n"
        "Date: Tue, 01 Oct 2024 12:34:56 -0500\n\nSee you at noon."
    )
    assert document.warnings == ()


def test_attachments_are_named_and_handed_over(parse: Parse, tmp_path: Path) -> None:
    made = message()
    made.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="Menü & prices.pdf")
    made.add_attachment("secret words", filename="notes.txt")
    document = parse(made.as_bytes())
    assert "Attachments: Menü & prices.pdf, notes.txt" in document.pages[0].text
    assert "secret words" not in document.pages[0].text
    assert "'Menü & prices.pdf', 'notes.txt'" in document.warnings[0]
    made.add_attachment(bytes(range(64)), maintype="application", subtype="x-thing", filename="thing.bin")
    (tmp_path / "mail.eml").write_bytes(made.as_bytes())
    found, _, warnings = unpacked(EmailParser(), tmp_path / "mail.eml")
    assert found == {"Menü & prices.pdf": b"%PDF-", "notes.txt": b"secret words\n"}
    assert warnings == ("1 part was not taken in: 'thing.bin' (files of type application/octet-stream are not read)",)


def test_large_picture_in_the_text_is_handed_over_and_a_logo_is_not(tmp_path: Path) -> None:
    made = message("Hello")
    for name, size in (("logo.png", PICTURE_BYTES - 100), ("screenshot.png", PICTURE_BYTES)):
        content = b"\x89PNG\r\n\x1a\n" + bytes(size)
        made.add_attachment(content, maintype="image", subtype="png", filename=name, cid=f"<{name}>")
    (tmp_path / "mail.eml").write_bytes(made.as_bytes())
    found, _, _ = unpacked(EmailParser(), tmp_path / "mail.eml")
    assert list(found) == ["screenshot.png"]


def test_picture_that_the_text_shows_is_no_attachment(parse: Parse) -> None:
    made = message("Hello")
    made.add_related(b"GIF89a", maintype="image", subtype="gif", filename="logo.gif", cid="<logo>")
    document = parse(made.as_bytes())
    assert "logo.gif" not in document.pages[0].text
    assert document.warnings == ()


def test_richer_form_is_taken_and_the_plain_one_too_if_it_says_something_else(parse: Parse) -> None:
    same = message("The quince harvest begins.")
    same.add_alternative("<p>The quince harvest <b>begins</b>.</p>", subtype="html")
    assert parse(same.as_bytes()).pages[0].text.endswith("bob@example.com\n\nThe quince harvest begins.")
    note = message("The pears are late this year.")
    note.add_alternative("<h2>Harvest</h2><p>" + "The quinces are ripe. " * 20 + "</p>", subtype="html")
    text = parse(note.as_bytes()).pages[0].text
    assert "## Harvest" in text
    assert text.endswith("The pears are late this year.")


def test_blocks_of_a_message_tell_its_words_from_quoted_ones(parse: Parse) -> None:
    document = parse(message("It is 40 euros.\n\n> What is\n> the fee?\n").as_bytes())
    page = document.pages[0]
    assert document.title == "Lunch"
    blocks = [(block.kind.value, page.text[block.start : block.end]) for block in page.blocks]
    assert [blocks[0], *blocks[2:]] == [
        ("heading", "Lunch"),
        ("paragraph", "It is 40 euros."),
        ("quote", "What is\nthe fee?"),
    ]


def test_lines_that_the_sender_broke_are_joined(parse: Parse) -> None:
    head = b"Subject: x\nContent-Type: text/plain; format=flowed\n\n"
    assert (
        parse(head + b"The lease \nends in May.\nSigned\n-- \nAnn")
        .pages[0]
        .text.endswith("The lease ends in May.\nSigned\n--\nAnn")
    )


def test_recipients_that_are_cut_are_told(parse: Parse) -> None:
    recipients = ",\n ".join(f"person{number}@example.com" for number in range(1000))
    document = parse(f"Subject: x\nTo: {recipients}\n\nwords".encode())
    assert document.warnings == ("only the first 10000 characters of the header To are read",)


def test_words_that_the_sender_broke_are_whole(parse: Parse) -> None:
    head = b"Subject: x\nContent-Type: text/plain; format=flowed; delsp=yes\n\n"
    text = parse(head + b"The agree \nment  \nends.\n-- \nAnn").pages[0].text
    assert text.endswith("The agreement ends.\n--\nAnn")


def test_message_of_parts_without_a_boundary_keeps_its_words(parse: Parse) -> None:
    raw = b"Subject: x\nContent-Type: multipart/mixed\n\nstill readable"
    assert parse(raw).pages[0].text.endswith("still readable")


def test_message_of_html_alone_is_read_by_its_structure(parse: Parse) -> None:
    made = message()
    made.set_content("<table><tr><th>Fruit</th></tr><tr><td>Quince</td></tr></table>", subtype="html")
    assert "Fruit: Quince" in parse(made.as_bytes()).pages[0].text


def test_forwarded_message_is_read_in_its_place(parse: Parse) -> None:
    inner = message("The original words.", Subject="Invoice 7")
    inner.add_attachment(b"x", maintype="application", subtype="pdf", filename="invoice.pdf")
    outer = message("See below.")
    outer.add_attachment(inner)
    document = parse(outer.as_bytes())
    text = document.pages[0].text
    assert text.index("See below.") < text.index("# Invoice 7") < text.index("The original words.")
    assert "invoice.pdf" in document.warnings[0]


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1", "windows-1252", "no-such-charset"])
def test_text_is_read_in_its_charset(parse: Parse, charset: str) -> None:
    codec = "utf-8" if charset == "no-such-charset" else charset
    head = f"Subject: Gruß\nContent-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: 8bit\n\n"
    assert "Die Größe der Öfen" in parse(head.encode() + "Die Größe der Öfen".encode(codec)).pages[0].text


def test_headers_of_encoded_words_and_of_bare_bytes_are_read(parse: Parse) -> None:
    raw = (
        "Subject: =?UTF-8?B?UXVpdHRlbiBpbQ==?=\r\n =?ISO-8859-1?Q?_Sp=E4therbst?=\r\nFrom: Jürgen <j@example.com>\r\n"
        "To: =?nonsense?B?AAAA?= <k@example.com>\r\n\r\nText"
    )
    text = parse(raw.encode()).pages[0].text
    assert text.startswith("# Quitten im Spätherbst")
    assert "From: Jürgen <j@example.com>" in text
    assert "k@example.com" in text


def test_endless_header_is_cut(parse: Parse) -> None:
    text = parse(b"Subject: " + b"=?utf-8?q?a?= " * 200_000 + b"\n\nText").pages[0].text
    assert text.endswith("\n\nText")
    assert len(text) < MAX_HEADER_CHARACTERS


def test_endless_parameter_of_a_content_type_is_cut(parse: Parse) -> None:
    raw = b'Content-Type: multipart/mixed; boundary="' + b'\\";' * 100_000 + b"\n\nText"
    assert len(parse(raw).pages) == 1


def test_message_exported_as_utf_16_is_read(parse: Parse) -> None:
    assert "See you at noon." in parse(message().as_string().encode("utf-16")).pages[0].text


def test_encrypted_message_says_what_to_do(parse: Parse) -> None:
    raw = b"Subject: x\nContent-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\n\nAAAA"
    with pytest.raises(EncryptedFileError, match="export it decrypted"):
        parse(raw)


def test_parts_nested_without_end_are_refused(parse: Parse) -> None:
    raw = b"Subject: x\n" + b"Content-Type: message/rfc822\n\n" * 100 + b"\ntext"
    with pytest.raises(LimitExceededError, match="nested"):
        parse(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"no headers at all",
        b"Content-Type: multipart/mixed\n\nno boundary",
        b"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Transfer-Encoding: base64\n\n!!!!\n",
        b"Content-Type: text/plain; charset*=''''\nSubject: =?utf-8?b?x?=\n\n\xff\xfe",
        b"Content-Disposition: attachment; filename*0*=a''; filename*2=b\n\nx",
    ],
)
def test_odd_message_is_read_as_far_as_it_goes(parse: Parse, raw: bytes) -> None:
    assert len(parse(raw).pages) == 1


def test_message_without_a_telling_name_is_recognised_by_its_headers(tmp_path: Path) -> None:
    path = tmp_path / "download"
    path.write_bytes(message().as_bytes().replace(b"\n", b"\r\n"))
    assert detect_content_type(path) == "message/rfc822"
    path.write_text("From: the beginning\nTo: the end\n\nis a tale", encoding="utf-8")
    assert detect_content_type(path) == "text/plain"
    path.write_text("From a: b\nthis is not\nSubject: mail\nTo: x\nDate: y\n\n", encoding="utf-8")
    assert detect_content_type(path) == "text/plain"
