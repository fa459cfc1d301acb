#!/usr/bin/env bash
# Builds and publishes the workspace in $WORKSPACE from the commit that is checked out, with the one option in $OPTION,
# and writes what it printed into the job's summary. Publishes nothing from a commit that $BRANCH has left behind, as
# when an old run is started again.
set -euo pipefail
newest=$(git ls-remote origin "refs/heads/$BRANCH" | cut -f1)
if [ -n "$newest" ] && [ "$newest" != "$(git rev-parse HEAD)" ]; then
  echo "$BRANCH has a newer commit, $newest, and the run of that one publishes. This run publishes nothing."
  exit 0
fi
case "${OPTION:-}" in
  "") options=() ;;
  --again | --allow-breaking | --without-history) options=("$OPTION") ;;
  *) echo "$OPTION is no option of this job: use --again, --allow-breaking or --without-history." >&2; exit 2 ;;
esac
# Nothing that content says in a message is a command to the runner.
mark="stop-$(python3 -c 'import secrets; print(secrets.token_hex(16))')"
echo "::stop-commands::$mark"
status=0
"$RUNNER_TEMP/parquetry/bin/cms" snapshot build "$WORKSPACE" "${options[@]}" 2>&1 | tee "$RUNNER_TEMP/build.txt" || status=$?
echo "::$mark::"
{ if [ "$status" = 0 ]; then echo "### Built"; else echo "### Not published"; fi
  echo; sed 's/^/    /' "$RUNNER_TEMP/build.txt"; } >>"$GITHUB_STEP_SUMMARY"
if [ "$status" = 0 ]; then echo "built=true" >>"$GITHUB_OUTPUT"; fi
exit "$status"
