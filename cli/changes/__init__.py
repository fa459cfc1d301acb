"""Tell people what changed between two states of a workspace: for ``cms review``, ``cms snapshot diff`` and builds."""
