"""Groups of connected items (union-find)."""

from collections import defaultdict


class Groups:
    """Items 0 to `count` - 1, each a group of its own until joined."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))

    def find(self, item: int) -> int:
        """Return the representative of an item's group."""
        parents = self._parents
        while parents[item] != item:
            parents[item] = parents[parents[item]]
            item = parents[item]
        return item

    def join(self, one: int, other: int) -> None:
        """Join the groups of two items; the lower representative stays."""
        first, second = sorted((self.find(one), self.find(other)))
        self._parents[second] = first

    def members(self) -> list[list[int]]:
        """Return the items of each group, in order."""
        groups: defaultdict[int, list[int]] = defaultdict(list)
        for item in range(len(self._parents)):
            groups[self.find(item)].append(item)
        return [groups[key] for key in sorted(groups)]
