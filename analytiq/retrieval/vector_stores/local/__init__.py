"""The local store: a knowledge base's current vectors mirrored in this process, searched exactly."""
