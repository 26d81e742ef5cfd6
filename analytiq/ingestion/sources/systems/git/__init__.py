"""Parts of git sources: the protocol of git over HTTP, packs, and trees."""
