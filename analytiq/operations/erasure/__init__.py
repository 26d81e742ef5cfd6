"""Erasure and retention: permanent deletion, with proof.

requested ──tombstone──▶ erasing ──▶ proving ──▶ done
                                ▲          │ rows are left, or running work may still write some
                                └──────────┘

A row of `erasures` drives each erasure and is its report. `service` takes requests, `erasing` runs the steps,
`retention` deletes documents by age.
"""
