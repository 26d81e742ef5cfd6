"""Tables that can be queried: rows collected from parsers, typed, and asked by SQL in a process without rights."""
