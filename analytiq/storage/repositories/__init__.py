"""Every query of the system, one repository a collection; methods are named for the questions they answer.

A method that touches a tenant's rows takes the organization id and puts it into the query. `INDEXES` beside
each repository says what its queries need; `analytiq.storage.migrations` creates them.
"""
