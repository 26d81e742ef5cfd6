"""Made texts, markup, data and source code of any size, for `growing_files`."""

import base64
import hashlib
import json

from benchmarks.growing_units import SENTENCE, Make, counted, nested, repeated

_PARAGRAPH = f"<p>{SENTENCE}</p>\n"
_FUNCTION = 'def area_{n}(width, height):\n    """Return the area."""\n    return width * height\n\n\n'
_ROW = "{n},Pump,1234.50,2024-03-05,a long description of the thing\n"


def utf16(make: Make) -> Make:
    """Return the shape in UTF-16."""
    return lambda size: make(size // 2).decode().encode("utf-16")


def repeated_base64(size: int) -> bytes:
    """Make the Base64 of bytes without a pattern."""
    block = b"".join(hashlib.sha256(b"%d" % number).digest() for number in range(96))
    return base64.b64encode(block * (size // 4096 + 1))[:size]


TEXTS: dict[str, Make] = {
    "prose.txt": repeated(SENTENCE * 4 + "\n\n"),
    "one line.txt": repeated(SENTENCE),
    "one word.txt": repeated("x"),
    "line ends.txt": repeated("\n"),
    "short lines.txt": repeated("a\n"),
    "cyrillic.txt": lambda size: ("Насос северной станции осмотрен. " * (size // 33)).encode("cp1251"),
    "utf16.txt": utf16(repeated(SENTENCE)),
    "chinese.txt": repeated("北站的水泵于三月十二日检查过。"),
    "prose.rtf": repeated(r"\pard " + SENTENCE + r"\par" + "\n", before=r"{\rtf1\ansi ", after="}"),
    "groups.rtf": nested("{", "word", "}"),
    "rtf groups.rtf": lambda size: b"{\\rtf1 " + nested("{\\b ", "word", "}")(size) + b"}",
    "table.rtf": repeated(r"\trowd\cellx1000\cellx2000 a\cell b\cell\row" + "\n", before=r"{\rtf1 ", after="}"),
    "picture.rtf": repeated("ff", before=r"{\rtf1 a{\pict\pngblip ", after="}b}"),
    "subtitles.srt": counted("{n}\n00:00:01,000 --> 00:00:02,000\nA line of speech\n\n"),
    "subtitles.vtt": counted("00:00:01.000 --> 00:00:02.000\nA line {n}\n\n", before="WEBVTT\n\n"),
    "base64.txt": repeated_base64,
    "base64 lines.txt": lambda size: b"".join(
        encoded[at : at + 76] + b"\n" for encoded in (repeated_base64(size),) for at in range(0, len(encoded), 76)
    ),
    "hex.txt": lambda size: repeated_base64(size).hex().encode()[:size],
    "hex lines.txt": counted("0000{n}0 48 65 6c 6c 6f 20 77 6f 72 6c 64 21 0a 00 00 00 00  |Hello|\n"),
    "digits.txt": repeated("1"),
    "numbers.txt": repeated("1,234.50 "),
    "grouped.txt": repeated("1,234,"),
    "spaced numbers.txt": repeated("123 "),
    "versions.txt": repeated("1.2."),
    "dates.txt": repeated("12 March 2024 and 2024-03-05 and March 5, 2024; "),
    "codes.txt": repeated("ab-12/"),
    "hyphens.txt": repeated("a-"),
    "letters.txt": repeated("a b c "),
    "spaces.txt": repeated(" ", before="a", after="b"),
    "spaces and lines.txt": repeated(" \n", before="a", after="b"),
    "stops.txt": repeated("."),
    "soup.txt": repeated("#$%^&*(){}[]|~ "),
    "hebrew.txt": repeated("המשאבה של התחנה הצפונית נבדקה "),
    "thai.txt": repeated("ปั๊มของสถานีเหนือได้รับการตรวจสอบแล้ว"),
    "emoji.txt": repeated("🙂"),
    "combining.txt": repeated("\u0301", before="a"),
    "misdecoded.txt": repeated("Ã¤â€œ"),
    "questions.txt": counted("Q: What is pump {n}?\nA: A pump of the north station.\n\n"),
    "escapes.txt": repeated("\x1b[1m"),
    "items.txt": repeated("- a\n  b\n"),
    "greek.txt": lambda size: ("Η αντλία του σταθμού ελέγχθηκε. " * (size // 32)).encode("cp1253"),
    "bad utf8.txt": lambda size: (SENTENCE.encode() + b"\xff\n") * (size // 98),
    "hex.rtf": repeated("\\'e9", before="{\\rtf1 ", after="}"),
    "unicode.rtf": repeated("\\u233?", before="{\\rtf1 ", after="}"),
    "one line.rtf": repeated(SENTENCE, before="{\\rtf1 ", after="}"),
    "one cue.srt": repeated(SENTENCE, before="1\n00:00:01,000 --> 00:00:02,000\n"),
    "short cues.srt": repeated("1\n00:00:01,000 --> 00:00:02,000\na\n\n"),
    "tags.vtt": repeated("<v ", before="WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n"),
}

MARKUP: dict[str, Make] = {
    "prose.md": counted(f"## Part {{n}}\n\n{SENTENCE * 3}\n\n- first\n- second\n\n"),
    "one line.md": repeated(SENTENCE),
    "stars.md": repeated("*"),
    "star words.md": repeated("*a **b "),
    "brackets.md": repeated("["),
    "bracket pairs.md": repeated("[a]("),
    "images.md": repeated("!["),
    "backticks.md": lambda size: "".join("`" * (1 + n % 60) + "a" for n in range(size // 31)).encode(),
    "underscores.md": repeated("_a"),
    "tags.md": repeated("<a "),
    "comments.md": repeated("<!--"),
    "quotes.md": repeated("> "),
    "quoted lines.md": repeated("> > > a\n"),
    "nested list.md": lambda size: "".join("  " * (n % 300) + "- a\n" for n in range(max(1, size // 304))).encode(),
    "table.md": counted("| {n} | Pump | 1,234.50 |\n", before="| No | Name | Price |\n|---|---|---|\n"),
    "wide table.md": lambda size: (
        "|a" * (size // 9) + "|\n" + "|---" * (size // 9) + "|\n" + "|b" * (size // 9)
    ).encode(),
    "fences.md": repeated("```\na\n"),
    "references.md": counted("[r{n}]: http://example.org/{n}\n"),
    "prose.html": repeated(_PARAGRAPH, before="<html><body>", after="</body></html>"),
    "one line.html": repeated(SENTENCE, before="<html><body><p>", after="</p></body></html>"),
    "attributes.html": counted(" a{n}=1", before="<html><body><p>Before.</p><div", after=">In.</div></body></html>"),
    "nested.html": nested("<div>", "word", "</div>"),
    "nested spans.html": nested("<b><i>", "word", "</i></b>"),
    "open tags.html": repeated("<b><p>a"),
    "nested lists.html": nested("<ul><li>a", "b", "</li></ul>"),
    "nested tables.html": nested("<table><tr><td>a", "b", "</td></tr></table>"),
    "table.html": counted(
        "<tr><td>{n}<td>Pump<td>1,234.50</tr>", before="<table><tr><th>No<th>Name<th>Price</tr>", after="</table>"
    ),
    "wide table.html": repeated("<td>a", before="<table><tr>", after="</tr><tr><td>b</tr></table>"),
    "spans table.html": repeated("<td rowspan=1000 colspan=10>a<tr>", before="<table><tr>", after="</table>"),
    "style.html": counted(".c{n}{display:none}\n", before="<style>", after="</style><p class=c1>a</p><p>b</p>"),
    "styled.html": counted("<p class=c{n}>word</p>", before="<style>.a{display:none}.b{visibility:hidden}</style>"),
    "style and classes.html": lambda size: (
        "<style>"
        + "".join(f".c{n}{{display:none}}" for n in range(size // 40))
        + "</style>"
        + "".join(f"<p class='c{n} d'>word</p>" for n in range(size // 40))
    ).encode(),
    "entities.html": repeated("&amp;&lt;", before="<p>", after="</p>"),
    "comment.html": repeated("<!-- a ", before="<p>a</p>"),
    "definitions.html": counted("<dt>term {n}<dd>meaning", before="<dl>", after="</dl>"),
    "headings.html": counted("<h2>Part {n}</h2><p>word</p>"),
    "headings.md": counted("# Part {n}\n"),
    "headings and text.md": counted(f"## Part {{n}}\n\n{SENTENCE}\n\n"),
    "deeper headings.md": counted("# A {n}\n## B {n}\n### C {n}\n#### D {n}\nword\n"),
    "pipes.md": repeated("|"),
    "smaller.md": repeated("<"),
    "one backtick.md": repeated("` "),
    "only backticks.md": repeated("`"),
    "only underscores.md": repeated("_"),
    "lists in a line.md": repeated("- "),
    "tildes.md": repeated("~~a "),
    "autolinks.md": repeated("<http://a"),
    "entities.md": repeated("&amp;"),
    "notes.md": counted("word[^{n}]\n\n[^{n}]: a note\n\n"),
    "open notes.md": counted("[^{n}]"),
    "picture.md": lambda size: b"![a](data:image/png;base64," + repeated_base64(size) + b")",
    "escapes.md": repeated("\\*"),
    "front matter.md": repeated("title: a\n", before="---\n"),
    "inline.html": repeated("<b>pump</b> of <a href=x>north</a> ", before="<p>", after="</p>"),
    "nested quotes.html": nested("<blockquote>a", "b", "</blockquote>"),
    "nested notes.html": nested("<sup>", "b", "</sup>"),
    "closing tags.html": repeated("</p></b>"),
    "half tags.html": repeated("<a", before="<p>"),
    "half attribute.html": repeated("a", before='<p>a</p><p title="'),
    "one style.html": repeated("color:red;", before='<p style="', after='">word</p>'),
    "selectors.html": repeated(".a .b > .c, ", before="<style>", after="p{display:none}</style><p>word</p>"),
    "styles.html": counted('<p style="width:{n}px;color:#fff">word</p>'),
    "cells.html": counted("<table><tr><td>{n}</td><td>a</td></tr></table>"),
    "empty cells.html": repeated("<td></td>", before="<table><tr><td>a</td></tr><tr>", after="</tr></table>"),
    "pictures.html": repeated("<img src=a alt=b>"),
    "links.html": counted("<a href='#n{n}'>{n}</a><p id='n{n}'>note</p>"),
    "pre.html": repeated("a b\n", before="<pre>", after="</pre>"),
    "base64.html": lambda size: b"<p>a</p><img src='data:image/png;base64," + repeated_base64(size) + b"'>",
    "script.html": repeated("var a=1;", before="<p>a</p><script>", after="</script>"),
    "list.html": counted("<li>item {n}", before="<ul>", after="</ul>"),
    "math.html": nested("<mrow>", "<mi>x</mi>", "</mrow>"),
}

DATA: dict[str, Make] = {
    "rows.csv": counted(_ROW, before="No,Name,Price,Date,Text\n"),
    "one line.csv": counted("value {n},"),
    "open quote.csv": repeated("a,b\n", before='"'),
    "quotes.csv": repeated('"a""b",'),
    "rows.tsv": counted("{n}\tPump\t1234.50\n"),
    "list.json": lambda size: json.dumps([{"name": f"pump {n}", "price": n * 1.5} for n in range(size // 36)]).encode(),
    "nested.json": nested("[", "1", "]"),
    "nested objects.json": nested('{"a":', "1", "}"),
    "one text.json": repeated(SENTENCE, before='{"a":"', after='"}'),
    "escapes.json": repeated("\\u00e9\\n", before='{"a":"', after='"}'),
    "keys.json": counted('"key{n}":1,', before="{", after='"z":1}'),
    "lines.jsonl": counted('{"name":"pump {n}","price":1.5}\n'),
    "list.yaml": counted("- name: pump {n}\n  price: 1.5\n"),
    "nested.yaml": nested("[", "1", "]"),
    "blocks.yaml": lambda size: "".join(" " * n + "a:\n" for n in range(int((2 * size) ** 0.5))).encode(),
    "aliases.yaml": counted("- &a{n} [1]\n- *a{n}\n"),
    "one line.yaml": repeated("a, ", before="[", after="b]"),
    "keys.yaml": counted("key{n}: 1\n"),
    "list.xml": counted("<item><name>pump {n}</name><price>1.5</price></item>", before="<list>", after="</list>"),
    "nested.xml": nested("<a>", "word", "</a>"),
    "attributes.xml": counted(" a{n}='1'", before="<list", after="/>"),
    "one text.xml": repeated(SENTENCE, before="<a>", after="</a>"),
    "entities.xml": repeated("&amp;", before="<a>", after="</a>"),
    "one cell.csv": repeated(SENTENCE, before='a,b\n1,"', after='"\n'),
    "columns.csv": lambda size: b"\n".join([b",".join(b"%d" % n for n in range(20_000))] * max(1, size // 108_890)),
    "empty cells.csv": repeated(",", before="a\n"),
    "empty rows.csv": repeated(",,,,,,,,\n", before="a,b,c,d,e,f,g,h,i\n"),
    "unbalanced.csv": repeated('a,"b\n'),
    "one column.csv": counted("{n}\n", before="No\n"),
    "wide table.tsv": counted("{n}\t"),
    "one line.jsonl": lambda size: json.dumps([{"a": f"pump {n}", "b": n} for n in range(size // 30)]).encode(),
    "numbers.json": counted("{n},", before="[", after="0]"),
    "deep keys.json": nested('{"a":[', "1", "]}"),
    "api.json": lambda size: json.dumps(
        {
            "openapi": "3.1.0",
            "info": {"title": "Pumps", "version": "1"},
            "paths": {f"/pumps/{n}": {"get": {"summary": "Return a pump."}} for n in range(size // 70)},
        }
    ).encode(),
    "doubled.yaml": counted("a{n}: &a{n} [*b, *b]\n", before="b: &b [1, 2]\n"),
    "bomb.yaml": lambda size: "".join(
        f"a{n}: &a{n} [" + f"*a{n - 1}, " * 9 + "]\n" if n else "a0: &a0 word\n" for n in range(size // 90)
    ).encode(),
    "one text.yaml": repeated(SENTENCE, before="a: >\n  "),
    "comments.yaml": repeated("# a\n", before="a: 1\n"),
    "bomb.xml": lambda size: (
        "<!DOCTYPE a [<!ENTITY e0 'word'>"
        + "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 9}'>" for n in range(1, max(2, size // 80)))
        + f"]><a>&e{max(2, size // 80) - 1};</a>"
    ).encode(),
    "names.xml": counted("<a{n}>1</a{n}>", before="<list>", after="</list>"),
    "spaces.xml": repeated("<a xmlns='urn:a'>", after="</a>"),
    "comments.xml": repeated("<!-- a -->", before="<a>", after="b</a>"),
}

CODE: dict[str, Make] = {
    "module.py": counted(_FUNCTION),
    "one line.py": counted("a{n}=1;"),
    "brackets.py": nested("(", "1", ")"),
    "open brackets.py": repeated("("),
    "one text.py": repeated(SENTENCE, before='a = "', after='"\n'),
    "module.js": counted("function area{n}(a, b) {\n  return a * b;\n}\n\n"),
    "minified.js": counted("function a{n}(a,b){return a*b};"),
    "module.ts": counted("export function area{n}(a: number): number {\n  return a;\n}\n\n"),
    "module.go": counted("func area{n}(a int) int {\n\treturn a\n}\n\n", before="package a\n"),
    "rules.css": counted(".c{n} { color: red }\n"),
    "rows.sql": counted("INSERT INTO pumps VALUES ({n}, 'Pump', 1234.50);\n"),
    "one insert.sql": counted("({n},'Pump'),", before="INSERT INTO pumps VALUES ", after="(0,'a');"),
    "module.tsx": counted("export const Area{n} = (p: Props) => <p className='a'>{p.a}</p>;\n\n"),
    "module.java": counted("class A{n} {\n  int area(int a) {\n    return a;\n  }\n}\n\n"),
    "one class.java": counted("  int area{n}(int a) { return a; }\n", before="class A {\n", after="}\n"),
    "module.rs": counted("/// Return the area.\nfn area{n}(a: u32) -> u32 {\n    a\n}\n\n"),
    "module.cs": counted("class A{n} {\n  int Area(int a) => a;\n}\n\n"),
    "module.c": counted("int area{n}(int a) {\n  return a;\n}\n\n"),
    "nested.c": nested("{", "a;", "}"),
    "module.cpp": counted("template <class T> T area{n}(T a) { return a; }\n"),
    "templates.cpp": repeated("a<"),
    "nested.js": nested("(function(){", "a", "})()"),
    "additions.js": repeated("a+", after="a;"),
    "nested classes.py": lambda size: "".join(
        f"{' ' * n}class A{n}:\n" for n in range(int((2 * size) ** 0.5))
    ).encode(),
    "comments.py": repeated("# word\n"),
    "one statement.sql": repeated("a AND ", before="SELECT 1 WHERE ", after="b;"),
    "open text.sql": repeated("('a', 'b'),\n", before="INSERT INTO a VALUES '"),
    "nested.ts": nested("a<", "b", ">"),
}
