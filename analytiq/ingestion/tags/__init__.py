"""Tags, and the check that tags named by a caller exist."""
