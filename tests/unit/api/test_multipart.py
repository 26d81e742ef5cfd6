import hashlib
import tracemalloc
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

import httpx
import pytest

from analytiq.errors import InvalidInputError, LimitExceededError
from api.multipart import FieldPart, FilePart, MultipartLimits, read_parts

CONTENT_TYPE = "multipart/form-data; boundary=edge"
LIMITS = MultipartLimits()

# Bytes that look like boundaries without being any, and line breaks at both ends.
TRAPS = b"\r\n--edg\r\nx--edge\r\n\n--edge--\r--edge\r\n--edgE--\r\n-\r\r\n\r"
BODY = (
    b"--edge\r\n"
    b'Content-Disposition: form-data; name="metadata"\r\n'
    b"\r\n"
    b'{"customer": "\xc3\x89mile"}\r\n'
    b"--edge\r\n"
    b'content-disposition: form-data; name="files"; filename="r\xc3\xa9sum\xc3\xa9.pdf"\r\n'
    b"Content-Type: Application/PDF; charset=x\r\n"
    b"\r\n" + TRAPS + b"\r\n"
    b"--edge\r\n"
    b'Content-Disposition: form-data; name="empty"\r\n'
    b"\r\n"
    b"\r\n"
    b"--edge\r\n"
    b'Content-Disposition: form-data; name="files"; filename="empty.bin"\r\n'
    b"\r\n"
    b"\r\n"
    b"--edge--\r\n"
)
PARTS = [
    FieldPart("metadata", '{"customer": "Émile"}'),
    ("files", "résumé.pdf", "application/pdf", TRAPS),
    FieldPart("empty", ""),
    ("files", "empty.bin", None, b""),
]


async def blocks(content: Iterable[bytes]) -> AsyncIterator[bytes]:
    for block in content:
        yield block


async def read_all(
    content: Sequence[bytes], *, content_type: str = CONTENT_TYPE, limits: MultipartLimits = LIMITS
) -> list[FieldPart | tuple[str, str, str | None, bytes]]:
    """All parts, files as (field, filename, content type, bytes)."""
    parts: list[FieldPart | tuple[str, str, str | None, bytes]] = []
    async for part in read_parts(blocks(content), content_type=content_type, limits=limits):
        if isinstance(part, FieldPart):
            parts.append(part)
        else:
            received = b"".join([block async for block in part.stream])
            parts.append((part.field, part.filename, part.content_type, received))
    return parts


def a_part(disposition: bytes, *, more: bytes = b"", content: bytes = b"x") -> bytes:
    head = b"--edge\r\nContent-Disposition: form-data; " + disposition + b"\r\n" + more
    return head + b"\r\n" + content + b"\r\n--edge--\r\n"


def a_file(name: bytes, content: bytes) -> bytes:
    head = b'--edge\r\nContent-Disposition: form-data; name="files"; filename="' + name + b'"\r\n\r\n'
    return head + content + b"\r\n"


async def test_a_body_reads_the_same_wherever_it_is_split_in_two() -> None:
    for position in range(len(BODY) + 1):
        assert await read_all([BODY[:position], BODY[position:]]) == PARTS, position


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 7, 11])
async def test_a_body_reads_the_same_in_blocks_of_any_length(block_bytes: int) -> None:
    content = [BODY[start : start + block_bytes] for start in range(0, len(BODY), block_bytes)]
    assert await read_all(content) == PARTS


async def test_empty_blocks_do_not_end_the_body() -> None:
    assert await read_all([b"", BODY[:50], b"", b"", BODY[50:], b""]) == PARTS


async def test_a_body_that_ends_early_is_refused_wherever_it_ends() -> None:
    last_needed = len(BODY) - len(b"\r\n")
    for position in range(last_needed):
        with pytest.raises(InvalidInputError):
            await read_all([BODY[:position]])
    assert await read_all([BODY[:last_needed]]) == PARTS


async def test_an_end_amid_a_file_is_told_to_the_reader_of_its_stream() -> None:
    content = [BODY[: BODY.index(TRAPS) + 5]]
    parts = read_parts(blocks(content), content_type=CONTENT_TYPE, limits=LIMITS)
    assert isinstance(await anext(parts), FieldPart)
    part = await anext(parts)
    assert isinstance(part, FilePart)

    async def read_stream() -> None:
        async for _ in part.stream:
            pass

    with pytest.raises(InvalidInputError, match="body"):
        await read_stream()
    with pytest.raises(InvalidInputError, match="body"):
        await anext(parts)


async def test_preamble_and_epilogue_are_ignored() -> None:
    content = [b"a preamble\r\n" + BODY + b"an epilogue --edge", b" in two blocks"]
    assert await read_all(content) == PARTS


async def test_a_body_without_parts_has_none() -> None:
    assert await read_all([b"--edge--\r\n"]) == []


async def test_a_stream_that_is_not_read_to_its_end_is_skipped() -> None:
    content = a_file(b"one", b"1" * 1000) + a_file(b"two", b"2" * 1000) + a_file(b"three", b"3") + b"--edge--"
    source = blocks([content[start : start + 100] for start in range(0, len(content), 100)])
    names: list[str] = []
    first_blocks: list[bytes] = []
    async for part in read_parts(source, content_type=CONTENT_TYPE, limits=LIMITS):
        assert isinstance(part, FilePart)
        names.append(part.filename)
        if part.filename != "two":
            first_blocks.append((await anext(aiter(part.stream)))[:1])
    assert names == ["one", "two", "three"]
    assert first_blocks == [b"1", b"3"]


async def test_a_stream_that_was_skipped_does_not_pretend_to_be_whole() -> None:
    content = a_file(b"one", b"1" * 10) + a_file(b"two", b"2") + b"--edge--"
    parts = read_parts(blocks([content]), content_type=CONTENT_TYPE, limits=LIMITS)
    first = await anext(parts)
    await anext(parts)
    assert isinstance(first, FilePart)
    with pytest.raises(RuntimeError, match="next part"):
        await anext(aiter(first.stream))


async def test_a_stream_stays_at_its_end() -> None:
    content = a_file(b"one", b"1") + a_file(b"two", b"2") + b"--edge--"
    parts = read_parts(blocks([content]), content_type=CONTENT_TYPE, limits=LIMITS)
    first = await anext(parts)
    assert isinstance(first, FilePart)
    assert [block async for block in first.stream] == [b"1"]
    assert [block async for block in first.stream] == []
    second = await anext(parts)
    assert isinstance(second, FilePart)
    assert [block async for block in second.stream] == [b"2"]


@pytest.mark.parametrize(
    ("disposition", "filename"),
    [
        (b'name="f"; filename="report.pdf"', "report.pdf"),
        (b"name=f; filename=report.pdf", "report.pdf"),
        (b"name=f; filename=my report.pdf", "my report.pdf"),
        ("name=f; filename=r\u00e9sum\u00e9.pdf".encode(), "r\u00e9sum\u00e9.pdf"),
        ('name="f"; filename="\u8acb\u6c42\u66f8.pdf"'.encode(), "\u8acb\u6c42\u66f8.pdf"),
        ('name="f"; filename="re\u0301sume\u0301.pdf"'.encode(), "r\u00e9sum\u00e9.pdf"),
        (b'name="f"; filename="a%22b%0D%0A.pdf"', 'a"b.pdf'),
        (b'name="f"; filename="a\\"b.pdf"', 'a"b.pdf'),
        (b'name="f"; filename="50%.pdf"', "50%.pdf"),
        (b'name="f"; filename="../../etc/passwd"', "passwd"),
        (b'name="f"; filename="C:\\\\Users\\\\me\\\\a.pdf"', "a.pdf"),
        (b'name="f"; filename="C:\\Users\\me\\a.pdf"', "a.pdf"),
        (b'name="f"; filename=" a\x00\x1b[31m\x7f.pdf "', "a[31m.pdf"),
        ('name="f"; filename="a\u202efdp.exe\u2028"'.encode(), "afdp.exe"),
        (b'name="f"; filename="x.pdf"; filename*=UTF-8\'\'%e2%82%ac%20rates.pdf', "\u20ac rates.pdf"),
        (b'name="f"; filename*=utf-8\'en\'%2e%2e%2Fa.pdf; filename="x.pdf"', "a.pdf"),
        (b"name=\"f\"; filename*=iso-8859-1'en'%A3.pdf", "\u00a3.pdf"),
        (b'name="f"; filename="x; filename*=UTF-8\'\'evil.pdf"', "x; filename*=UTF-8''evil.pdf"),
    ],
)
async def test_a_filename_is_what_the_client_meant_without_folders_and_controls(
    disposition: bytes, filename: str
) -> None:
    assert await read_all([a_part(disposition)]) == [("f", filename, None, b"x")]


@pytest.mark.parametrize(
    "body",
    [
        a_part(b'name="f"; filename=""'),
        a_part(b'name="f"; filename="."'),
        a_part(b'name="f"; filename="a/.."'),
        a_part(b'name="f"; filename="folder/"'),
        a_part(b'name="f"; filename="\x01 "'),
        a_part(b"name=\"f\"; filename*=UTF-8''"),
        a_part(b"name=\"f\"; filename*=UTF-8''%ff"),
        a_part(b"name=\"f\"; filename*=shift_jis''a"),
        a_part(b'name="f"; filename*="a.pdf"'),
        a_part(b'name="f"; filename="\xe9.pdf"'),
        a_part(b'filename="a.pdf"'),
        a_part(b'name=""'),
        a_part(b'name="f"', content=b"\xff"),
        a_part(b'name="f"', more=b"Content-Type: text/plain; charset=utf-16\r\n"),
        a_part(b'name="f"; filename="a"', more=b"Content-Transfer-Encoding: base64\r\n"),
        a_part(b'name="f"; filename="a"', more=b'Content-Disposition: form-data; name="g"\r\n'),
        a_part(b'name="f"; filename="a"', more=b"Content-Length: 2\r\n"),
        a_part(b'name="f"; filename="a"', more=b"no colon\r\n"),
        b'--edge\r\nContent-Disposition: attachment; name="f"\r\n\r\nx\r\n--edge--',
        b"--edge\r\nContent-Type: text/plain\r\n\r\nx\r\n--edge--",
        b"--edge\r\n\r\nx\r\n--edge--",
        b'--edge\nContent-Disposition: form-data; name="f"\n\nx\n--edge--',
        b'--edge\r\nContent-Disposition: form-data; name="f"\r\n\r\nx\r\n--edgex--',
        b'--other\r\nContent-Disposition: form-data; name="f"\r\n\r\nx\r\n--other--',
        b'{"documents": []}',
        b"",
    ],
)
async def test_a_malformed_body_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await read_all([body])
    assert caught.value.errors


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        'multipart/form-data; boundary=""',
        "multipart/form-data; boundary=" + "x" * 71,
        "multipart/form-data; boundary=\u00e9",
        "multipart/form-data; boundary=edge; boundary=other",
        "multipart/mixed; boundary=edge",
        "application/json",
        "",
    ],
)
async def test_a_content_type_without_a_usable_boundary_is_refused(content_type: str) -> None:
    with pytest.raises(InvalidInputError, match="Content-Type"):
        await read_all([BODY], content_type=content_type)


@pytest.mark.parametrize(
    "content_type",
    [
        "Multipart/Form-Data;boundary=edge",
        'multipart/form-data; charset=utf-8; BOUNDARY="edge"',
        "multipart/form-data; boundary=edge ; x=y",
    ],
)
async def test_a_content_type_is_read_in_every_spelling(content_type: str) -> None:
    assert await read_all([BODY], content_type=content_type) == PARTS


@pytest.mark.parametrize("boundary", ["----=_Part_1_123.456", "x" * 70, "a b", "'()+_,-./:=?"])
async def test_a_boundary_may_hold_whatever_the_standard_allows(boundary: str) -> None:
    quoted = f'multipart/form-data; boundary="{boundary}"'
    body = BODY.replace(b"edge--\r\n", b"edge--").replace(b"--edge\r\n", f"--{boundary}\r\n".encode())
    body = body.removesuffix(b"--edge--") + f"--{boundary}--".encode()
    assert len(await read_all([body], content_type=quoted)) == len(PARTS)


async def test_a_field_may_have_its_limit_and_no_byte_more() -> None:
    body = a_part(b'name="f"', content=b"x" * 100)
    limits = MultipartLimits(max_field_bytes=100)
    assert await read_all([body], limits=limits) == [FieldPart("f", "x" * 100)]
    with pytest.raises(LimitExceededError, match="'f'"):
        await read_all([body], limits=MultipartLimits(max_field_bytes=99))


async def test_a_body_may_have_as_many_parts_as_its_limit() -> None:
    assert len(await read_all([BODY], limits=MultipartLimits(max_parts=4))) == 4
    with pytest.raises(LimitExceededError):
        await read_all([BODY], limits=MultipartLimits(max_parts=3))


async def test_a_body_may_have_as_many_bytes_as_its_limit() -> None:
    content = [BODY[:100], BODY[100:], b"epilogue"]
    total = sum(map(len, content))
    assert await read_all(content, limits=MultipartLimits(max_total_bytes=total)) == PARTS
    with pytest.raises(LimitExceededError, match=str(total - 1)):
        await read_all(content, limits=MultipartLimits(max_total_bytes=total - 1))


async def test_a_limit_that_was_met_amid_a_file_is_met_again_by_whoever_reads_on() -> None:
    head = a_file(b"one", b"1")[:-1]
    limits = MultipartLimits(max_total_bytes=len(head))
    parts = read_parts(blocks([head, b"\n--edge--"]), content_type=CONTENT_TYPE, limits=limits)
    part = await anext(parts)
    assert isinstance(part, FilePart)
    assert await anext(aiter(part.stream)) == b"1"
    with pytest.raises(LimitExceededError):
        await anext(aiter(part.stream))
    with pytest.raises(LimitExceededError):
        await anext(aiter(part.stream))
    with pytest.raises(LimitExceededError):
        await anext(parts)


@pytest.mark.parametrize(
    "head",
    [b"X: " + b"y" * 5000 + b"\r\n", b"X: " + b"y" * 5000, b"X: y\r\n" * 9],
    ids=["long", "endless", "many"],
)
async def test_headers_without_measure_are_refused(head: bytes) -> None:
    with pytest.raises(LimitExceededError):
        await read_all([b"--edge\r\n" + head])


async def test_a_source_that_fails_fails_the_reader() -> None:
    async def source() -> AsyncIterator[bytes]:
        yield BODY[:300]
        raise ConnectionResetError("the client went away")

    async def read() -> None:
        async for part in read_parts(source(), content_type=CONTENT_TYPE, limits=LIMITS):
            if isinstance(part, FilePart):
                async for _ in part.stream:
                    pass

    with pytest.raises(ConnectionResetError):
        await read()


async def test_what_an_http_client_sends_is_what_is_read() -> None:
    content = bytes(range(256)) * 3000
    request = httpx.Request(
        "POST",
        "http://test/",
        data={"metadata": '{"é": 1}'},
        files=[
            ("files", ('Bericht "März".pdf', content, "application/pdf")),
            ("files", ("b.txt", b"\r\n--", "text/plain")),
        ],
    )
    body = request.read()
    parts = await read_all([body], content_type=request.headers["Content-Type"])
    assert parts == [
        FieldPart("metadata", '{"é": 1}'),
        ("files", 'Bericht "März".pdf', "application/pdf", content),
        ("files", "b.txt", "text/plain", b"\r\n--"),
    ]


def a_long_body(count: int) -> Iterator[bytes]:
    yield b'--edge\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n'
    for _ in range(count):
        yield b"\r\n--edg" * 8192
    yield b"\r\n--edge--\r\n"


async def test_a_long_file_passes_through_a_few_blocks_of_memory() -> None:
    count = 500
    digest = hashlib.sha256()
    tracemalloc.start()
    try:
        async for part in read_parts(blocks(a_long_body(count)), content_type=CONTENT_TYPE, limits=LIMITS):
            assert isinstance(part, FilePart)
            async for block in part.stream:
                digest.update(block)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert digest.hexdigest() == hashlib.sha256(b"\r\n--edg" * 8192 * count).hexdigest()
    assert peak_bytes < 1024 * 1024
