"""People: passwords, sessions, invitations, roles, and the audit log."""
