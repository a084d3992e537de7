"""Its being here puts this folder on the import path, so that all tests can import `assets`."""
