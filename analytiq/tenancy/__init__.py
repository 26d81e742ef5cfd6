"""Keep tenants apart: organizations, people, what they use and how much they may."""
