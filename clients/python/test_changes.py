"""Runs against a service with FOUR_EYES=true at GOVERNANCE_URL with the operator's key in GOVERNANCE_API_KEY."""

import asyncio
import os
import unittest
import uuid

from governance import ChangePending, Governance, GovernanceError
from governance_async import AsyncGovernance

URL = os.environ["GOVERNANCE_URL"]
OPERATOR = Governance(URL, os.environ["GOVERNANCE_API_KEY"])


def person(name, *scopes):
    agent = OPERATOR.request("POST", "/api/v1/agents", {"name": name, "kind": "human", "capabilities": []})
    key = {"name": name, "scopes": list(scopes), "agentId": agent["id"]}
    return agent["id"], OPERATOR.request("POST", "/api/v1/api-keys", key)["secret"]


class ChangesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # One person alone makes changes until there are two reviewers.
        _, key = person("cyd", "policies", "agents")
        cls.cyd = Governance(URL, key)
        cls.asynchronous = AsyncGovernance(URL, key)
        cls.reviewer, key = person("ada", "review")
        cls.ada = Governance(URL, key)
        person("ben", "review")

    def policy(self):
        rules = {"version": "1", "effect": "allow", "subjects": ["*"], "actions": ["look"], "resources": ["*"]}
        return {"name": f"held-{uuid.uuid4().hex}", **rules}

    def approve(self, decision_id):
        path = f"/api/v1/decisions/{decision_id}/approve"
        return self.ada.request("POST", path, {"approverId": self.reviewer})

    def test_change_waits_for_a_second_person_and_is_made_by_the_same_request(self):
        body = self.policy()
        with self.assertRaises(ChangePending) as caught:
            self.cyd.request("POST", "/api/v1/policies", body)
        error = caught.exception
        self.assertIsInstance(error, GovernanceError)
        self.assertEqual((error.code, error.status, error.is_outcome_unknown), ("CHANGE_PENDING", 202, False))
        self.assertEqual(error.location, f"/api/v1/decisions/{error.decision_id}")
        self.assertEqual(error.decision["status"], "proposed")
        self.assertIn("Nothing has changed yet", str(error))
        with self.assertRaises(ChangePending):
            self.cyd.request("POST", "/api/v1/policies", body, change=error.decision_id)
        self.approve(error.decision_id)
        with self.assertRaises(GovernanceError) as caught:
            self.cyd.request("POST", "/api/v1/policies", {**body, "description": "Another one."}, change=error.decision_id)
        self.assertEqual(caught.exception.status, 409)
        made = self.cyd.request("POST", "/api/v1/policies", body, change=error.decision_id)
        self.assertEqual((made["name"], made["status"]), (body["name"], "active"))
        with self.assertRaises(GovernanceError) as caught:
            self.cyd.request("POST", "/api/v1/policies", body, change=error.decision_id)
        self.assertEqual(caught.exception.status, 409)

    def test_decision_on_a_change_is_an_answer_like_others(self):
        with self.assertRaises(ChangePending) as caught:
            self.cyd.request("POST", "/api/v1/policies", self.policy())
        path = f"/api/v1/decisions/{caught.exception.decision_id}"
        self.assertEqual(self.cyd.request("GET", path)["status"], "proposed")
        rejected = self.ada.request("POST", f"{path}/reject", {})
        self.assertEqual((rejected["type"], rejected["status"]), ("change", "rejected"))

    def test_asynchronous_client_does_the_same(self):
        async def change():
            body = self.policy()
            with self.assertRaises(ChangePending) as caught:
                await self.asynchronous.request("POST", "/api/v1/policies", body)
            self.approve(caught.exception.decision_id)
            return await self.asynchronous.request(
                "POST", "/api/v1/policies", body, change=caught.exception.decision_id
            )

        self.assertEqual(asyncio.run(change())["status"], "active")


if __name__ == "__main__":
    unittest.main()
