"""Organizations and the access tokens that open them."""
