"""Quality gate: flaws of extracted text, and the sentences that tell them."""
