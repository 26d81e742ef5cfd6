"""Upload: bytes into GridFS under a lease, then one transaction that makes them a document."""
