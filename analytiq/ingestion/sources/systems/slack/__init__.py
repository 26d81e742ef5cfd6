"""Slack: channels, their messages and threads."""
