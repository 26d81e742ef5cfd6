"""How many calls, tokens and documents a minute: held across workers, processes and machines."""
