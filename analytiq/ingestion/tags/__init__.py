"""Tags, and the check that the tags which a caller names exist."""
