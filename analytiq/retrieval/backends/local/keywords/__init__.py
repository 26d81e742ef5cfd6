"""The keyword index of a replica: tantivy, in this process and on its disk."""
