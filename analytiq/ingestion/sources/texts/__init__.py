"""Names and Markdown of documents that are made from a service's texts."""
