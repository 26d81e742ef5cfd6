"""Sources: items of other systems that become documents and stay up to date."""
