"""Erasure and retention: deletes for good, and proves it.

    requested ──tombstone──▶ erasing ──▶ proving ──▶ done
                                ▲          │ rows are left, or work under way may still write some
                                └──────────┘

A row of `erasures` drives each erasure and is its report. `service` takes requests, `erasing` goes through the steps,
`retention` deletes documents by age.
"""
