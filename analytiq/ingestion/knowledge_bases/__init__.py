"""Knowledge bases: create, change, activate, count, delete."""
