"""Drives of Microsoft Graph: the parts of the kinds `onedrive` and `sharepoint`."""
