"""Every query of the system, one repository a collection; each method is named for the question it answers.

A method that touches a tenant's rows takes the organization id and puts it into the query. `INDEXES` beside
each repository declares the indexes of its queries; `analytiq.storage.migrations` creates them.
"""
