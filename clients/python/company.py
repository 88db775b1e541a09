"""A bot that may send mails, and refund with an approval of Ann, for tests against the service at GOVERNANCE_URL."""

import os
import time
import uuid

from governance import Governance

URL = os.environ["GOVERNANCE_URL"]
OPERATOR = Governance(URL, os.environ["GOVERNANCE_API_KEY"])
#: Seconds that tests wait for an event that is soon there, but may be late on a busy machine.
PATIENCE = 240


class Company:
    def __init__(self):
        self.suffix = uuid.uuid4().hex[:8]
        # A name that a path has to encode.
        bot = {"name": f"bot é? {self.suffix}", "capabilities": ["refund", "send", "succeed", "secret"]}
        self.bot = OPERATOR.request("POST", "/api/v1/agents", bot)
        self.ann = OPERATOR.request("POST", "/api/v1/agents", {"name": f"ann-{self.suffix}", "kind": "human"})
        # The priority is above that of policies which other tests have made for everybody.
        rules = {"version": "1", "subjects": [f"agent:{bot['name']}"], "resources": ["*"], "priority": 1}
        approval = {"approvers": [{"subjects": [f"agent:ann-{self.suffix}"]}]}
        ask = {"name": f"ask-{self.suffix}", "effect": "require_approval", "actions": ["refund"], "approval": approval}
        allow = {"name": f"allow-{self.suffix}", "effect": "allow", "actions": ["send", "succeed"]}
        for policy in (ask, allow):
            OPERATOR.request("POST", "/api/v1/policies", {**rules, **policy})
        key = {"name": "bot", "scopes": ["execute"], "agentId": self.bot["id"]}
        self.secret = OPERATOR.request("POST", "/api/v1/api-keys", key)["secret"]
        self.governance = Governance(URL, self.secret)

    def executions(self, **filters):
        return list(OPERATOR.pages("/api/v1/executions", {"agentId": self.bot["id"], **filters}))

    def approve(self, count=1, **filters):
        """Approves so many executions, and waits for those that are not pending yet."""
        end = time.monotonic() + PATIENCE
        while count > 0:
            for execution in self.executions(outcome="pending_approval", **filters):
                path = f"/api/v1/decisions/{execution['decisionId']}/approve"
                OPERATOR.request("POST", path, {"approverId": self.ann["id"]})
                count -= 1
            if time.monotonic() > end:
                raise AssertionError(f"{count} more should wait for an approval.")
            time.sleep(0.02)
