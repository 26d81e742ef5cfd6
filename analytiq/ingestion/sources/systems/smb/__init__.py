"""Parts of SMB sources: the connection, and the client."""
