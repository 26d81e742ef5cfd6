"""The platform as tools of the Model Context Protocol. Every tool is calls to the REST API with the caller's token."""
