"""The program's own version, for manifests and ``cms --version``."""

VERSION = "0.1.0"
PROGRAM = f"parquetry {VERSION}"
