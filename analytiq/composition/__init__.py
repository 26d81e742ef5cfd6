"""The composition root: everything that a process needs, put together once.

`bootstrap` starts a process (`starting`), `compose` puts the parts together in their order (`composing`), and
`Application` is what comes of it (`application`). The parts have a module each, lowest first: `accounts`,
`model_calls`, `indexing`, `documents`, `searching`, `prompting`, `handlers`.
"""

from analytiq.composition.application import Application
from analytiq.composition.composing import compose
from analytiq.composition.starting import bootstrap

__all__ = ["Application", "bootstrap", "compose"]
