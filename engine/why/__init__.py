"""Why an entry is visible or not: by the versions in a store, and by the files of the workspace."""
