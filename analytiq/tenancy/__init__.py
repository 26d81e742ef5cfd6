"""Keep tenants apart: organizations, people, usage and limits."""
