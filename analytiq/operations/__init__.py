"""Keep the installation true and safe: consistency checks, backups, erasure, live events."""
