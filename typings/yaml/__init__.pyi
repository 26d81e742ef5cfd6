from collections.abc import Iterator
from typing import Any

class YAMLError(Exception): ...
class Node: ...

class ScalarNode(Node):
    value: str

class SequenceNode(Node):
    value: list[Node]

class MappingNode(Node):
    value: list[tuple[Node, Node]]

class CBaseLoader: ...

def compose_all(stream: str, Loader: type[CBaseLoader]) -> Iterator[Node | None]: ...  # noqa: N803
def safe_load(stream: str) -> Any: ...
