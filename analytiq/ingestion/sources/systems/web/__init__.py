"""The parts of the crawler: addresses, requests, rules of sites, pages and lists of addresses."""
