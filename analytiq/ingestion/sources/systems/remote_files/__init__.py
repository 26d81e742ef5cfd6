"""Files of other machines: the walk through their folders, and connections to their servers."""
