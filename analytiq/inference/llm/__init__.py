"""Chat models: one call, or a stream, with tools and structured answers; counted, limited and charged."""
