"""The backend of MongoDB's own search server: `$vectorSearch` and `$search`."""
