"""Made PDFs of any size, for `growing_files`."""

from collections.abc import Sequence

from benchmarks.growing_units import SENTENCE, Make


def _pdf(
    streams: list[bytes], *, shared: int = 1, of_page: bytes = b"", of_catalog: bytes = b"", more: Sequence[bytes] = ()
) -> bytes:
    """Return a PDF whose pages show the content streams, each `shared` times.

    `of_page` and `of_catalog` are more of their dictionaries; with one page, `more` are the objects from 6 on.
    """
    pages = [index for index in range(len(streams)) for _ in range(shared)]
    first_page, first_stream = 4, 4 + len(pages)
    kids = " ".join(f"{first_page + number} 0 R" for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R%s>>" % of_catalog,
        f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    objects += [
        f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>>>"
        f"/Contents {first_stream + index} 0 R".encode()
        + of_page
        + b">>"
        for index in pages
    ]  # fmt: skip
    objects += [b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream) for stream in streams]
    objects += more
    out, offsets = bytearray(b"%PDF-1.7\n"), list[int]()
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)
    return bytes(out)


def _pdf_page(lines: int) -> bytes:
    shown = "".join(f"1 0 0 1 50 {800 - 12 * line} Tm ({SENTENCE[:80]})Tj\n" for line in range(lines))
    return f"BT /F 9 Tf\n{shown}ET".encode()


def pdf_pages(size: int) -> bytes:
    """Make a PDF of pages of prose, 5 kB each."""
    return _pdf([_pdf_page(45)] * max(1, size // 5000))


def pdf_small_pages(size: int) -> bytes:
    """Make a PDF of pages with three lines each; 20 MB: 10,000 pages at most."""
    return _pdf([_pdf_page(3)], shared=max(1, min(size // 2000, 10_000)))


def pdf_one_page(size: int) -> bytes:
    """Make a PDF of one page with all the text, line upon line within its height."""
    lines = max(1, size // 110)
    shown = "".join(f"1 0 0 1 50 {800 - 780 * line / lines:.3f} Tm ({SENTENCE[:80]})Tj\n" for line in range(lines))
    return _pdf([f"BT /F 9 Tf\n{shown}ET".encode()])


def pdf_scattered(size: int) -> bytes:
    """Make a PDF of one page with single words at scattered places."""
    count = max(1, size // 45)
    shown = "".join(
        f"1 0 0 1 {40 + number * 7919 % 500} {30 + number * 104729 % 780} Tm (word{number})Tj\n"
        for number in range(count)
    )
    return _pdf([f"BT /F 5 Tf\n{shown}ET".encode()])


def pdf_lines(size: int) -> bytes:
    """Make a PDF of one page with a grid of ruled lines and a word in some cells."""
    count = max(1, size // 40)
    drawn = "".join(
        f"{number * 31 % 500} {number * 17 % 800} m {number * 31 % 500 + 40} {number * 17 % 800} l S\n"
        for number in range(count)
    )
    return _pdf([f"{drawn}{_pdf_page(40).decode()}".encode()])


def pdf_objects(size: int) -> bytes:
    """Make a PDF of many objects that no page needs."""
    return _pdf([_pdf_page(3)], more=[b"<</A 1>>"] * (size // 40))


def pdf_annotations(size: int) -> bytes:
    """Make a PDF of one page with notes upon notes."""
    count = max(1, size // 130)
    notes = [
        b"<</Type/Annot/Subtype/FreeText/Contents(note %d)/Rect[%d %d %d %d]>>"
        % (number, x, y, x + 30, y + 10)
        for number in range(count)
        for x, y in ((number * 7919 % 500, number * 104729 % 780),)
    ]  # fmt: skip
    names = b" ".join(b"%d 0 R" % (6 + number) for number in range(count))
    return _pdf([_pdf_page(3)], of_page=b"/Annots[%s]" % names, more=notes)


def pdf_fields(size: int) -> bytes:
    """Make a PDF of one page with filled form fields."""
    count = max(1, size // 160)
    fields = [
        b"<</Type/Annot/Subtype/Widget/FT/Tx/T(f%d)/V(value %d)/Rect[%d %d %d %d]/P 4 0 R>>"
        % (number, number, x, y, x + 40, y + 10)
        for number in range(count)
        for x, y in ((number * 7919 % 500, number * 104729 % 780),)
    ]  # fmt: skip
    names = b" ".join(b"%d 0 R" % (6 + number) for number in range(count))
    return _pdf(
        [_pdf_page(3)], of_page=b"/Annots[%s]" % names, of_catalog=b"/AcroForm<</Fields[%s]>>" % names, more=fields
    )


def pdf_outline(size: int) -> bytes:
    """Make a PDF of one page with bookmarks one behind the other."""
    count = max(1, size // 100)
    marks = [
        b"<</Title(Part %d)/Parent 6 0 R/Dest[4 0 R/XYZ 0 %d 0]%s>>"
        % (number, number % 800, b"/Next %d 0 R" % (8 + number) if number + 1 < count else b"")
        for number in range(count)
    ]  # fmt: skip
    root = b"<</Type/Outlines/First 7 0 R/Last %d 0 R/Count %d>>" % (6 + count, count)
    return _pdf([_pdf_page(3)], of_catalog=b"/Outlines 6 0 R", more=[root, *marks])


def pdf_deep_outline(size: int) -> bytes:
    """Make a PDF of one page with bookmarks one below the other."""
    count = max(1, size // 100)
    marks = [
        b"<</Title(Part %d)/Parent %d 0 R/Dest[4 0 R/Fit]%s>>"
        % (number, 6 + number, below if number + 1 < count else b"")
        for number in range(count)
        for below in (b"/First %d 0 R/Last %d 0 R/Count 1" % (8 + number, 8 + number),)
    ]  # fmt: skip
    root = b"<</Type/Outlines/First 7 0 R/Last 7 0 R/Count 1>>"
    return _pdf([_pdf_page(3)], of_catalog=b"/Outlines 6 0 R", more=[root, *marks])


def pdf_ruled(size: int) -> bytes:
    """Make a PDF of pages with a ruled table of 40 rows and five columns each."""
    shown = "BT /F 8 Tf " + "".join(
        f"1 0 0 1 {55 + 100 * column} {785 - 18 * row} Tm (cell {row} {column})Tj\n"
        for row in range(40)
        for column in range(5)
    )
    lines = "".join(f"50 {800 - 18 * row} m 550 {800 - 18 * row} l S\n" for row in range(41))
    lines += "".join(f"{50 + 100 * column} 800 m {50 + 100 * column} 80 l S\n" for column in range(6))
    stream = f"{lines}{shown} ET".encode()
    return _pdf([stream] * max(1, size // len(stream)))


def pdf_grid(size: int) -> bytes:
    """Make a PDF of one page with one ruled table of tiny cells."""
    side = max(2, int((size / 90) ** 0.5))
    step = 500 / side
    lines = "".join(f"50 {50 + step * n:.3f} m 550 {50 + step * n:.3f} l S\n" for n in range(side + 1))
    lines += "".join(f"{50 + step * n:.3f} 50 m {50 + step * n:.3f} 550 l S\n" for n in range(side + 1))
    shown = "".join(
        f"1 0 0 1 {50 + step * (column + 0.2):.3f} {50 + step * (row + 0.2):.3f} Tm (a)Tj\n"
        for row in range(side)
        for column in range(side)
    )
    return _pdf([f"{lines}BT /F {step / 2:.3f} Tf\n{shown}ET".encode()])


def pdf_rectangles(size: int) -> bytes:
    """Make a PDF of one page with rectangles upon rectangles."""
    drawn = "".join(f"{n * 31 % 500} {n * 17 % 800} {20 + n % 60} {10 + n % 20} re S\n" for n in range(size // 20))
    return _pdf([f"{drawn}{_pdf_page(40).decode()}".encode()])


def pdf_one_line(size: int) -> bytes:
    """Make a PDF with all the text in one line, most of it off the page."""
    return _pdf([f"BT /F 9 Tf 1 0 0 1 50 700 Tm ({SENTENCE * (size // 97)})Tj ET".encode()])


def pdf_headings(size: int) -> bytes:
    """Make a PDF of pages with eight headings, each with a line below."""
    shown = "".join(
        f"/F 16 Tf 1 0 0 1 50 {800 - 90 * part} Tm (Part {part})Tj /F 9 Tf 1 0 0 1 50 {770 - 90 * part} Tm "
        f"({SENTENCE[:80]})Tj\n"
        for part in range(8)
    )
    return _pdf([f"BT {shown}ET".encode()] * max(1, size // 1400))


def pdf_columns(size: int) -> bytes:
    """Make a PDF of pages with two columns of prose."""
    shown = "".join(
        f"1 0 0 1 {50 + 260 * column} {800 - 12 * line} Tm ({SENTENCE[:50]})Tj\n"
        for column in range(2)
        for line in range(60)
    )
    return _pdf([f"BT /F 9 Tf\n{shown}ET".encode()] * max(1, size // 9500))


PAGES: dict[str, Make] = {
    "pages.pdf": pdf_pages,
    "small pages.pdf": pdf_small_pages,
    "one page.pdf": pdf_one_page,
    "scattered.pdf": pdf_scattered,
    "lines.pdf": pdf_lines,
    "objects.pdf": pdf_objects,
    "annotations.pdf": pdf_annotations,
    "fields.pdf": pdf_fields,
    "outline.pdf": pdf_outline,
    "deep outline.pdf": pdf_deep_outline,
    "ruled tables.pdf": pdf_ruled,
    "grid.pdf": pdf_grid,
    "rectangles.pdf": pdf_rectangles,
    "one line.pdf": pdf_one_line,
    "headings.pdf": pdf_headings,
    "columns.pdf": pdf_columns,
}
