"""Request and response bodies of the REST API. Unknown fields of a request are refused."""
