"""Files of Dropbox."""
