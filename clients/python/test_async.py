"""The client for asyncio against the service at GOVERNANCE_URL, with the operator's key in GOVERNANCE_API_KEY."""

import asyncio
import time
import unittest
import unittest.mock

from company import OPERATOR, PATIENCE, URL, Company
from governance import ActionCarriedOut, ApprovalPending, GovernanceError, Guard
from governance_async import AsyncGovernance


class AsyncTest(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.company = Company()
        cls.governance = AsyncGovernance(URL, cls.company.secret)

    def execution(self, resource_id):
        return self.company.executions(resourceId=resource_id)[-1]

    async def settled(self, resource_id, outcome):
        """The report of a call that was given up comes from a thread."""
        end = time.monotonic() + PATIENCE
        while (found := self.company.executions(resourceId=resource_id)[-1:]) == [] or found[0]["outcome"] != outcome:
            self.assertLess(time.monotonic(), end, found)
            await asyncio.sleep(0.02)
        return found[0]

    async def test_decorator_runs_what_is_allowed_and_reports(self):
        @self.governance.guard("send", "mail", lambda to: f"mails/{to}", parameters=lambda to: {"to": to}, run=lambda to: f"run of {to}")
        async def send(to):
            await asyncio.sleep(0)
            return {"sent": to}

        self.assertEqual(await send("carol"), {"sent": "carol"})
        found = self.execution("mails/carol")
        self.assertEqual((found["outcome"], found["result"]), ("executed", {"sent": "carol"}))
        self.assertEqual((found["parameters"], found["run"]), ({"to": "carol"}, "run of carol"))

    async def test_context_manager_reports_its_result_or_its_failure(self):
        async with self.governance.guard("send", "mail", "mails/dave") as execution:
            execution.result = 3
        self.assertEqual(self.execution("mails/dave")["result"], 3)
        with self.assertRaises(ZeroDivisionError):
            async with self.governance.guard("send", "mail", "mails/erin"):
                1 / 0
        self.assertEqual(self.execution("mails/erin")["outcome"], "failed")

    async def test_what_is_no_async_def_is_refused_before_and_what_would_run_later_after(self):
        with self.assertRaisesRegex(TypeError, "not an async def"):
            self.governance.guard("send", "mail", "mails/1")(lambda: None)

        @self.governance.guard("send", "mail", "mails/later")
        async def later():
            return asyncio.sleep(0)

        with self.assertRaisesRegex(TypeError, "before it had run"):
            await later()
        self.assertEqual(self.execution("mails/later")["outcome"], "failed")

    async def test_denied_never_runs(self):
        with self.assertRaises(GovernanceError) as denied:
            async with self.governance.guard("secret", "mail", "mails/secret"):
                self.fail("It ran.")
        self.assertEqual((denied.exception.reason, denied.exception.explanation["effect"]), ("no_policy_allows", "deny"))

    async def test_waits_for_the_approval_while_the_loop_goes_on(self):
        order = f"orders/{self.company.suffix}-waits"

        @self.governance.guard("refund", "payment", order, wait=PATIENCE)
        async def refund():
            return "refunded"

        refunding = asyncio.create_task(refund())
        # A call that held the loop up would have ended before any of this goes on.
        while not await asyncio.to_thread(self.company.executions, resourceId=order):
            await asyncio.sleep(0.01)
        self.assertFalse(refunding.done())
        await asyncio.to_thread(self.company.approve, resourceId=order)
        self.assertEqual(await refunding, "refunded")
        with self.assertRaises(ApprovalPending):
            async with self.governance.guard("refund", "payment", order):
                self.fail("It ran.")

    async def test_many_calls_wait_at_once(self):
        orders = [f"orders/{self.company.suffix}-many-{index}" for index in range(50)]
        calls = [asyncio.create_task(self.governance.guard("refund", "payment", order, wait=PATIENCE).__aenter__()) for order in orders]
        await asyncio.to_thread(self.company.approve, len(orders))
        await asyncio.gather(*calls)

    async def test_a_call_that_is_cancelled_while_it_waits_uses_no_approval_up(self):
        order = f"orders/{self.company.suffix}-cancelled"

        @self.governance.guard("refund", "payment", order, wait=PATIENCE)
        async def refund():
            self.fail("It ran.")

        refunding = asyncio.create_task(refund())
        while not self.company.executions(resourceId=order):
            await asyncio.sleep(0.02)
        refunding.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await refunding
        self.company.approve(resourceId=order)
        await asyncio.sleep(2)
        self.assertEqual(self.execution(order)["outcome"], "approved")

    async def test_a_call_that_is_cancelled_as_it_is_authorised_is_recorded_as_failed(self):
        place = f"mails/{self.company.suffix}-late"
        guard = self.governance.guard("send", "mail", place)
        ask = Guard._permitted

        def permitted(self, arguments, named):
            found = ask(self, arguments, named)
            loop.call_soon_threadsafe(sending.cancel)
            time.sleep(0.2)
            return found

        loop = asyncio.get_running_loop()
        with unittest.mock.patch.object(Guard, "_permitted", permitted):
            sending = asyncio.create_task(guard.__aenter__())
            with self.assertRaises(asyncio.CancelledError):
                await sending
            found = await self.settled(place, "failed")
        self.assertEqual(found["failureReason"], "The call was cancelled before it began.")

    async def test_what_is_cancelled_as_it_runs_is_recorded_as_failed(self):
        place = f"mails/{self.company.suffix}-cancelled"
        began = asyncio.Event()

        @self.governance.guard("send", "mail", place)
        async def send():
            began.set()
            await asyncio.sleep(60)

        sending = asyncio.create_task(send())
        await began.wait()
        sending.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await sending
        self.assertEqual((await self.settled(place, "failed"))["failureReason"], "CancelledError")

    async def test_handler_of_the_service_runs_it(self):
        @self.governance.guard("succeed", "mail", "mails/handled")
        async def send():
            self.fail("It ran here, too.")

        handled = await send()
        self.assertIsNotNone(handled)
        with self.assertRaises(ActionCarriedOut):
            async with self.governance.guard("succeed", "mail", "mails/handled"):
                self.fail("It ran here, too.")

    async def test_requests_and_pages(self):
        operator = AsyncGovernance(URL, OPERATOR._key)
        self.assertEqual(await self.governance.own_agent(), self.company.bot["id"])
        agents = [agent["id"] async for agent in operator.pages("/api/v1/agents", {"limit": 1})]
        self.assertIn(self.company.bot["id"], agents)
        with self.assertRaises(GovernanceError) as missing:
            await operator.request("GET", "/api/v1/agents/nobody-here")
        self.assertEqual(missing.exception.status, 404)

    async def test_each_with_needs_a_guard_of_its_own(self):
        guard = self.governance.guard("send", "mail", "mails/frank")
        async with guard:
            with self.assertRaisesRegex(RuntimeError, "in use"):
                async with guard:
                    pass
        async with guard:
            pass


if __name__ == "__main__":
    unittest.main()
