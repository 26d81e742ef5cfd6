"""Parts of WebDAV sources."""
