#!/usr/bin/env bash
# Tells the team in one issue of the repository that content was not published ($STATUS is "failure"), with what the
# build printed, and closes it after a build that worked ($BUILT is "true"). Needs the permission issues: write.
set -euo pipefail
title="Content was not published"
issue=$(gh issue list --state open --search "\"$title\" in:title" --json number,title \
  --jq "[.[] | select(.title == \"$title\")][0].number // empty")
if [ "$STATUS" != failure ]; then
  if [ "$BUILT" = true ] && [ -n "$issue" ]; then gh issue close "$issue" --comment "It works again: $RUN"; fi
  exit 0
fi
{ echo "Commit $(git log -1 --format='%h by %an' 2>/dev/null) was not published, so what was published before stays. $RUN"
  echo
  if [ -s "$RUNNER_TEMP/build.txt" ]; then head -c 20000 "$RUNNER_TEMP/build.txt" | sed 's/^/    /'; fi
} >"$RUNNER_TEMP/told.md"
if [ -n "$issue" ]; then
  gh issue comment "$issue" --body-file "$RUNNER_TEMP/told.md"
else
  gh issue create --title "$title" --body-file "$RUNNER_TEMP/told.md"
fi
