"""Take in documents: upload, extract, chunk and index them; keep documents, tags and knowledge bases."""
