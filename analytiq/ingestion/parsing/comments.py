"""Comments of data files whose readers drop them."""

import re
from collections.abc import Iterable, Iterator

from analytiq.ingestion.parsing.completeness import lost_pieces, lost_words
from analytiq.ingestion.parsing.data_tree import Tree, words_of

_COMMENT = re.compile(r"(?:^|[ \t])#+[ \t]*(\S[^\n]*)$", re.MULTILINE)


def trailing_comments(text: str, trees: Iterable[Tree]) -> Iterator[str]:
    """Yield what stands behind `#` on its line or after a value, and is no part of a value.

    Args:
        text: the file.
        trees: the values that were read from it.
    """
    comments = [match[1] for match in _COMMENT.finditer(text)]
    if comments:
        lost = lost_words([text], (word for tree in trees for word in words_of(tree)))
        yield from lost_pieces(comments, lost)
