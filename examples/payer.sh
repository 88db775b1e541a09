# Asks, waits, resumes after the approval and reports, with curl alone.
set -euo pipefail
call() { curl -sS --fail-with-body -H "Authorization: Bearer $GOVERNANCE_API_KEY" -H 'Content-Type: application/json' "$@"; }
field() { node -pe "JSON.parse(require('fs').readFileSync(0)).$1"; }
me=$(call "$GOVERNANCE_URL/api/v1/me" | field agentId)
asked=$(call "$GOVERNANCE_URL/api/v1/agents/$me/execute" -d '{"action":"send-payment","resourceType":"payment","resourceId":"payments/2026/0042","parameters":{"amount":1200}}')
execution="$GOVERNANCE_URL/api/v1/executions/$(field id <<< "$asked")"
if [ "$(field outcome <<< "$asked")" != authorized ]; then
  while [ "$(field outcome <<< "$asked")" = pending_approval ]; do asked=$(call "$execution?wait=60"); done
  asked=$(call -X POST "$execution/resume")
fi
[ "$(field outcome <<< "$asked")" = authorized ] || { echo "refused"; exit 1; }
call "$execution/result" -d '{"outcome":"executed","result":{"sent":1200}}' | field result.sent
