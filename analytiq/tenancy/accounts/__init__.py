"""People: passwords, sessions, invitations, roles, and the log of what they did."""
