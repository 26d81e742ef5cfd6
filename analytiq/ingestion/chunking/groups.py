"""Groups: the parts that a chunker keeps together where they fit, such as a section."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from analytiq.ingestion.chunking.parts import Part
from analytiq.ingestion.chunking.sizes import Sizes
from analytiq.models.blocks import BlockKind


@dataclass(slots=True)
class Group:
    """Parts in order, with their approximate size.

    Attributes:
        path: numbers of the headings above the first part, from the highest; equal paths are the same section.
        last_path: the same of the last section that was merged.
        tree_size: the size with all sections below.
        is_bare: the parts are headings or captions, and what they head is in the next group.
        is_whole: a group that is a chunk however small it is.
    """

    parts: list[Part]
    token_count: int
    path: tuple[int, ...] = ()
    is_bare: bool = False
    is_whole: bool = False
    last_path: tuple[int, ...] = ()
    tree_size: int = 0

    @property
    def start(self) -> int:
        """The first character."""
        return self.parts[0].start

    @property
    def end(self) -> int:
        """The end of the last character."""
        return self.parts[-1].end

    def takes(self, other: "Group") -> None:
        """Append the parts of the next group."""
        self.parts += other.parts
        self.last_path = other.last_path
        self.token_count += other.token_count
        self.is_bare = self.is_bare and other.is_bare
        self.is_whole = self.is_whole or other.is_whole


@dataclass(slots=True)
class _Headings:
    """The headings above the present part: their levels and numbers."""

    open: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    count: int = 0

    def enter(self, level: int) -> tuple[int, ...]:
        while self.open and self.open[-1][0] >= level:
            self.open.pop()
        self.count += 1
        self.open.append((level, self.count))
        return tuple(number for _, number in self.open)


def section_groups(
    text: str, parts: Sequence[Part], sizes: Sizes, *, parts_tables: bool, section_level: int = 0
) -> list[Group]:
    """Return the sections of a text: a heading with what follows up to the next heading, small ones merged.

    Args:
        text: the text of the parts.
        parts: in order.
        sizes: of the chunks.
        parts_tables: a table that is no small one is a group of its own, with its caption.
        section_level: no sections are merged across a heading of this level or a higher one; 0 for no level.
    """
    sections = list(_sections(text, parts, sizes, parts_tables=parts_tables))
    groups: list[Group] = []
    for run in _runs(sections, sizes, section_level):
        _measure_trees(run)
        groups += _merged_backwards(list(_merged_forwards(run, sizes)), sizes)
    return groups


def _runs(sections: Sequence[Group], sizes: Sizes, section_level: int) -> list[list[Group]]:
    """Part the sections before each heading of the level or above.

    Headings alone stay with what follows. So does a stub, such as a title with a line, with the first section below
    it: alone it would be found for each question that names the document.
    """
    runs: list[list[Group]] = []
    size = 0
    for section in sections:
        first = section.parts[0]
        begins = not runs or (first.kind is BlockKind.HEADING and first.level <= section_level)
        if runs and begins:
            above = runs[-1][-1].path
            is_stub = size < sizes.stub and section.path[: len(above)] == above
            begins = not is_stub and not all(one.is_bare for one in runs[-1])
        if begins:
            runs.append([])
            size = 0
        runs[-1].append(section)
        size += section.token_count
    return runs


def _sections(text: str, parts: Sequence[Part], sizes: Sizes, *, parts_tables: bool) -> Iterator[Group]:
    headings, path = _Headings(), ()
    group: Group | None = None
    after_table = False
    for part in parts:
        size = sizes.measured(text, part.start, part.end)
        is_heading = part.kind is BlockKind.HEADING
        if is_heading:
            path = headings.enter(part.level)
        is_table = parts_tables and part.kind is BlockKind.TABLE and size >= sizes.definition
        one = Group([part], size, path, is_bare=part.leads, last_path=path)
        if group is None or is_heading or group.is_bare:
            begins = group is None or is_heading
        else:
            is_split = part.follows_furniture and group.token_count >= sizes.definition
            begins = is_split or is_table or after_table or (parts_tables and part.kind is BlockKind.CAPTION)
        if begins:
            if group is not None:
                yield group
            group = one
        elif group is not None:
            group.takes(one)
        after_table = is_table
    if group is not None:
        yield group


def _measure_trees(sections: Sequence[Group]) -> None:
    """Add the size of each section to those above it; a path has at most nine headings."""
    above: list[Group] = []
    for section in sections:
        while above and section.path[: len(above[-1].path)] != above[-1].path:
            above.pop()
        if not above or above[-1].path != section.path:
            above.append(section)
        for one in above:
            one.tree_size += section.token_count


def _merged_forwards(sections: Iterable[Group], sizes: Sizes) -> Iterator[Group]:
    """Merge a heading with what follows it, and a small section with the next one of the same parent.

    A section beside the small one comes with all that is below it, or not at all.
    """
    current: Group | None = None
    tree: tuple[int, ...] | None = None
    for section in sections:
        if current is None:
            current = section
        elif tree is not None and section.path[: len(tree)] == tree:
            current.takes(section)
        elif current.is_bare or _joins(current, section, sizes, small=current):
            is_below = section.path[: len(current.last_path)] == current.last_path
            tree = None if is_below or current.is_bare else section.path
            current.takes(section)
        else:
            yield current
            current, tree = section, None
    if current is not None:
        yield current


def _merged_backwards(groups: Sequence[Group], sizes: Sizes) -> list[Group]:
    """Merge a group that stayed small with the one before, unless it introduces the one after."""
    merged: list[Group] = []
    for index, group in enumerate(groups):
        below = index + 1 < len(groups) and groups[index + 1].path[: len(group.last_path)] == group.last_path
        introduces = bool(group.last_path) and below
        if merged and not introduces and (group.is_bare or _joins(merged[-1], group, sizes, small=group)):
            merged[-1].takes(group)
        else:
            merged.append(group)
    return merged


def _joins(before: Group, after: Group, sizes: Sizes, *, small: Group) -> bool:
    is_beside = small is before and after.path[: len(before.last_path)] != before.last_path
    if small is before and small.token_count < sizes.stub and after.path[: len(before.path)] == before.path:
        return before.token_count + after.token_count <= sizes.chunk
    if before.token_count + (after.tree_size if is_beside else after.token_count) > sizes.chunk:
        return False
    parent = before.path[:-1]
    is_full = small.token_count >= (sizes.definition if _parts_subjects(before, after) else sizes.minimum)
    return not is_full and after.path[: len(parent)] == parent


def _parts_subjects(before: Group, after: Group) -> bool:
    """Return True for two sections side by side of which one has sections below, such as products of a catalogue.

    Together they would have the path of neither.
    """
    is_beside = after.path[: len(before.path)] != before.path
    return is_beside and (len(before.last_path) > len(before.path) or after.tree_size > after.token_count)
