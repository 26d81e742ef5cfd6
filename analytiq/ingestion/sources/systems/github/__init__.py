"""GitHub: issues, pull requests and files of repositories."""
