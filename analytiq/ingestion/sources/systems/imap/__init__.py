"""Mailboxes of an IMAP server: the parts of the kind `imap`."""
