"""Composition root: one object of services for every process, command and test.

`Services` has a group for each room, in a module of that room's name. A group and its services are built when they are
first used, so that a command needs neither a secret key nor a search server for what it does not touch. `compose`
prepares a process's services, and `bootstrap` starts a process.
"""

from analytiq.composition.services import Services, compose
from analytiq.composition.starting import bootstrap

__all__ = ["Services", "bootstrap", "compose"]
