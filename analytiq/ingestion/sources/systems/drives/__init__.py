"""Parts that the kinds of drives share."""
