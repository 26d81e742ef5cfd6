"""A made retrieval set: documents of everyday kinds, and questions whose answers need the context of a passage."""
