"""Write imported content as the files of a workspace."""
