"""Files of Google Drive: the parts of the kind `google-drive`."""
