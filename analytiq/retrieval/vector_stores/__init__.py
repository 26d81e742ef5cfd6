"""Vector stores: where a question's nearest chunks are found."""
