"""Parts of SFTP sources: keys, and the client."""
