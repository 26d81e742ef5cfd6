"""The parts of the kinds for wikis and issue trackers: their APIs, and their texts as HTML."""
