"""Backup and restore: one archive of an organization or of the installation.

    Backup:  hold ──▶ snapshot (small collections) ──▶ files, texts, vectors, cache ──▶ trailer ──▶ release
    Restore: verify all of it ──▶ hold ──▶ files, texts, hidden knowledge bases, vectors, index, documents
                 ──tx: epochs, status, organization──▶ release

`container` defines the format, `making` writes archives, `verification` checks them, `restoring` restores them.
"""
