"""The reader of Word documents, which reads the document's own XML."""
