"""Start ``cms`` with the product's own packages first on the path.

Their names (``cli``, ``engine``, ``server``, ``snapshots``) are common: a folder of the same name in the current
directory, or under ``PYTHONPATH``, would be imported in their place. The processes it starts get the same path.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    """Run ``cms`` with the arguments of the process, as ``cli.main.main``."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from cli.main import main as run  # noqa: PLC0415 (found only now that the path is right)

    run()


if __name__ == "__main__":
    main()
