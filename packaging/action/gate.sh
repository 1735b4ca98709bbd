#!/usr/bin/env bash
# The step of action.yml that runs the gate. It reads REDLINE_COMMAND, REDLINE_RULES (one per line), REDLINE_BASELINE and
# REDLINE_MAX_REGRESSION, writes report, result and JUnit file to $RUNNER_TEMP/redline and the summary to the page of the job, and
# ends with redline's exit code.
set -euo pipefail
out=$RUNNER_TEMP/redline
mkdir -p "$out"

# The command is split as a shell splits it, but nothing in it is expanded or executed.
command=()
while IFS= read -r -d '' word; do command+=("$word"); done < <(xargs printf '%s\0' <<<"$REDLINE_COMMAND")
[ ${#command[@]} -gt 0 ] || { echo "the input command is empty; give, for example, 'profile -m MODEL -u HOST:PORT'" >&2; exit 99; }

gate=(--json "$out/result.json" --report "$out/report.html" --junit "$out/junit.xml" --summary "$GITHUB_STEP_SUMMARY" --no-history)
while IFS= read -r rule; do
  [ -z "${rule//[[:space:]]/}" ] || gate+=(--assert "$rule")
done <<<"${REDLINE_RULES:-}"
[ -z "${REDLINE_BASELINE:-}" ] || gate+=(--baseline "$REDLINE_BASELINE" --max-regression "${REDLINE_MAX_REGRESSION:-3}")

code=0
redline "${command[@]}" "${gate[@]}" || code=$?
{
  echo "result=$out/result.json"
  echo "exit-code=$code"
} >>"$GITHUB_OUTPUT"
exit $code
