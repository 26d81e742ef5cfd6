"""Compound files and Outlook messages made for tests."""

import struct
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Tree: TypeAlias = "Mapping[str, bytes | Tree]"

SECTOR = 512
NONE, END, TABLE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def compound(tree: Tree) -> bytes:
    """Return a compound file of storages (mappings) and streams, each stream in sectors of its own."""
    entries: list[bytearray] = []
    chains: list[bytes] = []
    first_sectors: dict[int, int] = {}

    def entry(name: str, kind: int, size: int = 0) -> int:
        made = bytearray(128)
        encoded = name.encode("utf-16-le")
        made[: len(encoded)] = encoded
        struct.pack_into("<HBB3L", made, 64, len(encoded) + 2, kind, 1, NONE, NONE, NONE)
        struct.pack_into("<LQ", made, 116, END, size)
        entries.append(made)
        return len(entries) - 1

    def fill(parent: int, content: Tree) -> None:
        previous, place = parent, 76
        for name, value in content.items():
            index = entry(name, 2 if isinstance(value, bytes) else 1, len(value) if isinstance(value, bytes) else 0)
            struct.pack_into("<L", entries[previous], place, index)
            previous, place = index, 72
            if isinstance(value, bytes):
                first_sectors[index] = len(chains)
                chains.append(value)
            else:
                fill(index, value)

    fill(entry("Root Entry", 5), tree)
    table: list[int] = []
    body = bytearray()

    def append(data: bytes) -> int:
        first, sectors = len(table), -(-len(data) // SECTOR)
        table.extend([*range(first + 1, first + sectors), END] if sectors else [])
        body.extend(data.ljust(sectors * SECTOR, b"\x00"))
        return first if sectors else END

    starts = [append(data) for data in chains]
    for index, chain in first_sectors.items():
        struct.pack_into("<L", entries[index], 116, starts[chain])
    directory = append(b"".join(entries).ljust(-(-len(entries) // 4) * SECTOR, b"\x00"))
    table_sectors = 1
    while table_sectors * 128 < len(table) + table_sectors:
        table_sectors += 1
    places = range(len(table), len(table) + table_sectors)
    table += [TABLE] * table_sectors + [NONE] * (table_sectors * 128 - len(table) - table_sectors)
    header = bytearray(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(SECTOR, b"\x00"))
    struct.pack_into("<5H", header, 24, 0x3E, 3, 0xFFFE, 9, 6)
    struct.pack_into("<9L", header, 44, table_sectors, directory, 0, 0, END, 0, END, 0, 0)
    struct.pack_into("<109L", header, 76, *places, *[NONE] * (109 - table_sectors))
    return bytes(header + body + struct.pack(f"<{len(table)}L", *table))


def properties(values: Mapping[int, str | bytes | int], *, header_bytes: int) -> dict[str, "bytes | Tree"]:
    """Return the streams of properties: texts, bytes, and numbers of 32 or 64 bits."""
    streams: dict[str, bytes | Tree] = {}
    fixed = b""
    for number, value in values.items():
        if isinstance(value, str):
            streams[f"__substg1.0_{number:04X}001F"] = value.encode("utf-16-le")
        elif isinstance(value, bytes):
            streams[f"__substg1.0_{number:04X}0102"] = value
        else:
            fixed += struct.pack("<LLQ", number << 16 | (0x40 if value >> 32 else 3), 6, value)
    return {"__properties_version1.0": bytes(header_bytes) + fixed, **streams}


def outlook_message(
    values: Mapping[int, str | bytes | int],
    *,
    recipients: Sequence[Mapping[int, str | bytes | int]] | None = None,
    attachments: Sequence[Mapping[int, str | bytes | int]] | None = None,
    attached_message: Mapping[int, str | bytes | int] | None = None,
) -> bytes:
    """Return a message of properties, its recipients' and its attachments' properties."""
    tree = properties(values, header_bytes=32)
    for index, recipient in enumerate(recipients or []):
        tree[f"__recip_version1.0_#{index:08X}"] = properties(recipient, header_bytes=8)
    attached = [properties(attachment, header_bytes=8) for attachment in attachments or []]
    if attached_message is not None:
        embedded: Tree = properties(attached_message, header_bytes=24)
        attached.append(properties({0x3001: "Forwarded"}, header_bytes=8) | {"__substg1.0_3701000D": embedded})
    for index, attachment in enumerate(attached):
        tree[f"__attach_version1.0_#{index:08X}"] = attachment
    return compound(tree)
