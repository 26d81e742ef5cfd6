"""The platform as tools of the Model Context Protocol. Every tool calls the REST API with the caller's token."""
