"""Wire shapes: what travels over HTTP, apart from what is stored. Unknown fields of a request are refused."""
