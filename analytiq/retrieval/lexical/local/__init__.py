"""An index of words for each knowledge base, by tantivy, in this process and on its disk."""
