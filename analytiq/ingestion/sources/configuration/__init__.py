"""Sources as people configure them: created, checked, signed in, changed and deleted."""
