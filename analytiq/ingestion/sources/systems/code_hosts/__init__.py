"""Parts that the code hosts share."""
