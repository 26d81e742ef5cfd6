"""GitLab: issues, merge requests, wikis and files of projects."""
