#!/usr/bin/env bash
# Installs cms into $RUNNER_TEMP/parquetry: from $PACKAGE, which is anything that pip installs, such as the address of a
# wheel; without one from the repository that this file is in, which is the action's, with the versions it was tested with.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
python3 -m venv "$RUNNER_TEMP/parquetry"
if [ -n "${PACKAGE:-}" ]; then
  "$RUNNER_TEMP/parquetry/bin/pip" install --quiet "$PACKAGE"
else
  "$RUNNER_TEMP/parquetry/bin/pip" install --quiet --constraint "$source/constraints.txt" "${source}[objects]"
fi
"$RUNNER_TEMP/parquetry/bin/cms" --version
