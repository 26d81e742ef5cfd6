"""What every use of LiteLLM shares: how it is imported and kept quiet, and what its errors mean."""
