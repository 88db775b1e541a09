"""Runs against the service at GOVERNANCE_URL with the operator's key in GOVERNANCE_API_KEY."""

import asyncio
import concurrent.futures
import dataclasses
import importlib.util
import os
import sys
import threading
import time
import types
import unittest
import unittest.mock
import uuid

import governance
from company import PATIENCE
from governance import ActionCarriedOut, ApprovalPending, Governance, GovernanceError, ResultNotReported

@dataclasses.dataclass
class Invoice:
    amount: int
    lines: list


URL = os.environ["GOVERNANCE_URL"]
OPERATOR = Governance(URL, os.environ["GOVERNANCE_API_KEY"])


class GuardTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.suffix = uuid.uuid4().hex[:8]
        capabilities = ["refund", "send", "succeed", "fail"]
        cls.bot = OPERATOR.request("POST", "/api/v1/agents", {"name": f"bot-{cls.suffix}", "capabilities": capabilities})
        person = {"name": f"ann-{cls.suffix}", "kind": "human", "capabilities": ["review"], "roles": ["finance"]}
        cls.ann = OPERATOR.request("POST", "/api/v1/agents", person)
        rules = {"version": "1", "subjects": ["*"], "resources": ["*"]}
        approval = {"approvers": [{"subjects": ["role:finance"]}]}
        ask = {"effect": "require_approval", "actions": ["refund"], "approval": approval}
        OPERATOR.request("POST", "/api/v1/policies", {"name": f"ask-{cls.suffix}", **rules, **ask})
        allow = {"effect": "allow", "actions": ["send", "succeed", "fail"]}
        OPERATOR.request("POST", "/api/v1/policies", {"name": f"allow-{cls.suffix}", **rules, **allow})
        key = {"name": "bot", "scopes": ["execute"], "agentId": cls.bot["id"]}
        cls.secret = OPERATOR.request("POST", "/api/v1/api-keys", key)["secret"]
        cls.governance = Governance(URL, lambda: cls.secret)

    def execution(self, resource_id):
        return list(OPERATOR.pages("/api/v1/executions", {"resourceId": resource_id}))[-1]

    def approve(self, resource_id):
        path = f"/api/v1/decisions/{self.execution(resource_id)['decisionId']}/approve"
        OPERATOR.request("POST", path, {"approverId": self.ann["id"]})

    def test_decorator_runs_what_is_allowed_and_reports(self):
        @self.governance.guard("send", "mail", lambda to: f"mails/{to}", parameters=lambda to: {"to": to})
        def send(to):
            return {"sent": to}

        self.assertEqual(send("carol"), {"sent": "carol"})
        found = self.execution("mails/carol")
        self.assertEqual((found["outcome"], found["result"], found["parameters"]), ("executed", {"sent": "carol"}, {"to": "carol"}))

    def test_sends_the_trace_of_the_active_span_where_opentelemetry_is_present(self):
        valid = types.SimpleNamespace(trace_id=0x4BF92F, span_id=0xF067, trace_flags=1, is_valid=True)
        none = types.SimpleNamespace(trace_id=0, span_id=0, trace_flags=0, is_valid=False)
        active = [valid]
        trace = types.SimpleNamespace(get_current_span=lambda: types.SimpleNamespace(get_span_context=lambda: active[0]))
        package = types.ModuleType("opentelemetry")
        package.trace = trace
        spec = importlib.util.spec_from_file_location("traced_governance", governance.__file__)
        traced = importlib.util.module_from_spec(spec)
        with unittest.mock.patch.dict(sys.modules, {"opentelemetry": package, "traced_governance": traced}):
            spec.loader.exec_module(traced)
        client = traced.Governance(URL, self.secret)
        with client.guard("send", "mail", "mails/traced"):
            pass
        self.assertEqual(self.execution("mails/traced")["traceId"], f"{0x4BF92F:032x}")
        active[0] = none
        with client.guard("send", "mail", "mails/untraced"):
            pass
        self.assertIsNone(self.execution("mails/untraced")["traceId"])

    def test_says_for_whom_and_in_which_run(self):
        @OPERATOR.guard("send", "mail", "mails/erin", agent=self.bot["id"], run=lambda user: f"run of {user}",
                        on_behalf_of=lambda user: {"subject": f"user:{user}", "roles": ["finance"]})
        def send(user):
            return user

        send("erin")
        found = self.execution("mails/erin")
        principal = {"subject": "user:erin", "roles": ["finance"]}
        self.assertEqual((found["onBehalfOf"], found["run"]), (principal, "run of erin"))
        with OPERATOR.guard("send", "mail", "mails/frank", agent=self.bot["id"], on_behalf_of=principal, run="one"):
            pass
        found = self.execution("mails/frank")
        self.assertEqual((found["onBehalfOf"], found["run"]), (principal, "one"))

    def test_context_manager_reports_its_result(self):
        with self.governance.guard("send", "mail", "mails/dave") as execution:
            execution.result = 3
        self.assertEqual(self.execution("mails/dave")["result"], 3)

    def test_result_that_json_cannot_carry_stays_with_the_caller(self):
        @self.governance.guard("send", "mail", "mails/set")
        def send():
            return {1, 2}

        self.assertEqual(send(), {1, 2})
        self.assertEqual(self.execution("mails/set")["outcome"], "executed")

    def test_result_that_is_too_large_is_recorded_by_its_size(self):
        @self.governance.guard("send", "mail", "mails/large")
        def send():
            return "x" * 12_000_000

        self.assertEqual(len(send()), 12_000_000)
        found = self.execution("mails/large")
        omitted = {"omitted": "The result was not accepted as a value.", "bytes": 12_000_002}
        self.assertEqual((found["outcome"], found["result"]), ("executed", omitted))

    def test_failure_is_reported_and_raised(self):
        with self.assertRaisesRegex(RuntimeError, "The mailbox is full."):
            with self.governance.guard("send", "mail", "mails/full"):
                raise RuntimeError("The mailbox is full.")
        found = self.execution("mails/full")
        self.assertEqual((found["outcome"], found["failureReason"]), ("failed", "The mailbox is full."))

    def test_failure_is_reported_even_if_it_cannot_say_what_it_is(self):
        class Speechless(Exception):
            def __str__(self):
                raise ValueError("No words.")

        with self.assertRaises(Speechless):
            with self.governance.guard("send", "mail", "mails/speechless"):
                raise Speechless()
        found = self.execution("mails/speechless")
        self.assertEqual((found["outcome"], found["failureReason"]), ("failed", "Speechless"))

    def test_result_is_not_lost_when_there_is_no_key_to_report_it_with(self):
        sent = []

        def key():
            if sent:
                raise OSError("The vault is sealed.")
            return self.secret

        with self.assertRaises(ResultNotReported) as caught:
            with Governance(URL, key).guard("send", "mail", "mails/sealed") as execution:
                sent.append(1)
                execution.result = 3
        self.assertEqual(caught.exception.result, 3)
        self.assertEqual(self.execution("mails/sealed")["outcome"], "authorized")

    def test_what_would_run_after_its_report_is_refused(self):
        async def coroutine():
            self.fail("It ran.")

        def generator():
            self.fail("It ran.")
            yield

        async def stream():
            self.fail("It ran.")
            yield

        guard = self.governance.guard("send", "mail", "mails/later")
        for function in (coroutine, generator, stream):
            with self.assertRaisesRegex(TypeError, f"{function.__name__} returns before it has run"):
                guard(function)
        for function in (lambda: coroutine(), lambda: generator(), lambda: stream()):
            with self.assertRaisesRegex(TypeError, "It returned before it had run"):
                guard(function)()
            self.assertEqual(self.execution("mails/later")["outcome"], "failed")

    def test_what_may_still_be_running_is_not_known(self):
        async def run_within_a_loop():
            ended = asyncio.Event()
            guard = self.governance.guard("send", "mail", "mails/task")
            with self.assertRaisesRegex(TypeError, "not known whether the action was carried out.*Do not repeat it"):
                guard(lambda: asyncio.ensure_future(ended.wait()))()
            ended.set()
            await asyncio.sleep(0)

        asyncio.run(run_within_a_loop())
        with concurrent.futures.ThreadPoolExecutor() as pool:
            ended = threading.Event()
            with self.assertRaisesRegex(TypeError, "not known whether the action was carried out"):
                self.governance.guard("send", "mail", "mails/pool")(lambda: pool.submit(ended.wait))()
            ended.set()
        for resource_id in ("mails/task", "mails/pool"):
            found = self.execution(resource_id)
            self.assertEqual(found["outcome"], "failed")
            self.assertIn("not known whether the action was carried out", found["failureReason"])

    def test_parameters_that_json_would_change_are_refused_before_anything_is_asked(self):
        for changed, place in (
            ({1: "a", "1": "b"}, "parameters"),
            ({"to": [{None: 1}]}, r"parameters\.to\[0\]"),
            ({"to": float("nan")}, r"parameters\.to"),
            ({"to": {1, 2}}, r"parameters\.to"),
        ):
            with self.assertRaisesRegex(TypeError, f"^{place} must be plain JSON"):
                with self.governance.guard("send", "mail", "mails/changed", changed):
                    self.fail("It ran.")
        self.assertEqual(list(OPERATOR.pages("/api/v1/executions", {"resourceId": "mails/changed"})), [])

    def test_guard_reports_no_block_as_another(self):
        guard = self.governance.guard("send", "mail", "mails/shared")
        with guard as first:
            with self.assertRaisesRegex(RuntimeError, "each `with` needs a guard of its own"):
                with guard:
                    self.fail("It ran.")
            first.result = "first"
        with guard as second:
            second.result = "second"
        found = [one["result"] for one in OPERATOR.pages("/api/v1/executions", {"resourceId": "mails/shared"})]
        self.assertEqual(found, ["first", "second"])

    def test_denied_before_it_runs_with_the_explanation(self):
        runs = []
        with self.assertRaises(GovernanceError) as caught:
            with self.governance.guard("review", "mail", "mails/denied"):
                runs.append(1)
        self.assertEqual((caught.exception.code, caught.exception.reason), ("PERMISSION_DENIED", "capability_missing"))
        self.assertEqual(caught.exception.explanation["reason"], "capability_missing")
        self.assertTrue(caught.exception.request_id)
        self.assertEqual(runs, [])

    def test_pending_then_approved_runs_once(self):
        runs = []

        @self.governance.guard("refund", "payment", lambda order: order)
        def refund(order):
            runs.append(order)
            return "refunded"

        order = f"orders/{self.suffix}-1"
        with self.assertRaises(ApprovalPending):
            refund(order)
        self.approve(order)
        self.assertEqual(refund(order), "refunded")
        with self.assertRaises(ApprovalPending):
            refund(order)
        self.assertEqual(runs, [order])

    def test_waits_for_the_approval(self):
        order = f"orders/{self.suffix}-2"

        def approve_soon():
            while OPERATOR.request("GET", "/api/v1/executions", query={"resourceId": order})["total"] == 0:
                time.sleep(0.02)
            self.approve(order)

        approving = threading.Thread(target=approve_soon)
        approving.start()
        with self.governance.guard("refund", "payment", order, wait=PATIENCE) as execution:
            execution.result = "refunded"
        approving.join()
        self.assertEqual(self.execution(order)["result"], "refunded")

    def test_what_was_asked_is_what_runs_whatever_becomes_of_the_arguments(self):
        order = f"orders/{self.suffix}-frozen"
        invoice = Invoice(10, [{"price": 10}])
        basket = {"lines": [{"price": 10}]}
        runs = []

        def change_and_approve():
            while OPERATOR.request("GET", "/api/v1/executions", query={"resourceId": order})["total"] == 0:
                time.sleep(0.02)
            invoice.amount = basket["lines"][0]["price"] = invoice.lines[0]["price"] = 9_999
            self.approve(order)

        parameters_of = lambda invoice, basket: {"amount": invoice.amount, "lines": invoice.lines, "basket": basket}

        @self.governance.guard("refund", "payment", order, parameters=parameters_of, wait=PATIENCE)
        def refund(invoice, basket):
            runs.append(parameters_of(invoice, basket))

        changing = threading.Thread(target=change_and_approve)
        changing.start()
        refund(invoice, basket=basket)
        changing.join()
        self.assertEqual(runs, [{"amount": 10, "lines": [{"price": 10}], "basket": {"lines": [{"price": 10}]}}])
        self.assertEqual(self.execution(order)["parameters"], runs[0])

    def test_equal_calls_that_wait_for_the_same_approval_run_once_and_have_one_outcome(self):
        order = f"orders/{self.suffix}-equal"
        paths, runs = [], []

        class Counting(Governance):
            def request(self, method, path, *others, **named):
                answer = super().request(method, path, *others, **named)
                if path.endswith("/execute"):
                    paths.append(path)
                return answer

        @Counting(URL, self.secret).guard("refund", "payment", order, wait=PATIENCE)
        def refund():
            runs.append(1)
            return "refunded"

        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            calls = [pool.submit(refund) for _ in range(3)]
            while len(paths) < 3:
                time.sleep(0.02)
            self.approve(order)
            self.assertEqual([call.result() for call in calls], ["refunded"] * 3)
        self.assertEqual(runs, [1])

    def test_says_when_nobody_could_approve_it(self):
        approval = {"approvers": [{"subjects": [f"role:board-{self.suffix}"]}]}
        rules = {"version": "1", "subjects": ["*"], "resources": ["unfillable/*"], "priority": 1}
        ask = {"effect": "require_approval", "actions": ["refund"], "approval": approval}
        OPERATOR.request("POST", "/api/v1/policies", {"name": f"unfillable-{self.suffix}", **rules, **ask})
        for order, is_feasible in ((f"unfillable/{self.suffix}", False), (f"orders/{self.suffix}-feasible", True)):
            with self.assertRaises(ApprovalPending) as pending:
                with self.governance.guard("refund", "payment", order):
                    self.fail("It ran.")
            self.assertEqual(pending.exception.is_feasible, is_feasible)
            self.assertEqual("Nobody, or too few, could approve it" in str(pending.exception), not is_feasible)

    def test_rejected_never_runs(self):
        order = f"orders/{self.suffix}-3"
        with self.assertRaises(ApprovalPending) as pending:
            with self.governance.guard("refund", "payment", order):
                self.fail("It ran.")
        decision = pending.exception.execution["decisionId"]
        OPERATOR.request("POST", f"/api/v1/decisions/{decision}/reject", {"approverId": self.ann["id"], "comment": "No\nmore."})
        with self.assertRaises(GovernanceError) as rejected:
            with self.governance.guard("refund", "payment", order):
                self.fail("It ran.")
        self.assertEqual(rejected.exception.reason, "approval_rejected")
        self.assertEqual(rejected.exception.rejection["comment"], "No\nmore.")
        self.assertEqual(rejected.exception.decision_id, decision)
        refused = OPERATOR.request("GET", f"/api/v1/executions/{rejected.exception.execution_id}")
        self.assertEqual((refused["outcome"], refused["reason"]), ("denied", "approval_rejected"))
        self.assertIn('The words of the reviewer who rejected it: "No\\nmore."', str(rejected.exception))

    def test_rejected_with_what_would_be_right(self):
        order = f"orders/{self.suffix}-instead"
        with self.assertRaises(ApprovalPending) as pending:
            with self.governance.guard("refund", "payment", order, {"amount": 900}):
                self.fail("It ran.")
        decision = pending.exception.execution["decisionId"]
        instead = {"approverId": self.ann["id"], "instead": {"parameters": {"amount": 90}}}
        OPERATOR.request("POST", f"/api/v1/decisions/{decision}/reject", instead)
        with self.assertRaises(GovernanceError) as rejected:
            with self.governance.guard("refund", "payment", order, {"amount": 900}):
                self.fail("It ran.")
        self.assertEqual(rejected.exception.rejection["instead"]["parameters"], {"amount": 90})
        self.assertIn('would approve instead, which may be executed once: {"amount": 90}', str(rejected.exception))
        with self.governance.guard("refund", "payment", order, {"amount": 90}) as refund:
            self.assertEqual(refund.execution["grantId"], rejected.exception.rejection["instead"]["grantId"])

    def test_handler_of_the_service_runs_it(self):
        @self.governance.guard("succeed", "job", "jobs/1")
        def run():
            self.fail("It ran.")

        self.assertEqual(run(), {"moved": 3, "note": "done"})
        with self.assertRaises(ActionCarriedOut):
            with self.governance.guard("succeed", "job", "jobs/2"):
                self.fail("It ran.")
        with self.assertRaisesRegex(GovernanceError, "The mailbox is full.") as failed:
            with self.governance.guard("fail", "job", "jobs/3"):
                self.fail("It ran.")
        self.assertEqual(failed.exception.code, "EXECUTION_FAILED")

    def test_service_away(self):
        away = Governance("http://127.0.0.1:9", "x", patience=0)
        with self.assertRaises(GovernanceError) as caught:
            away.request("GET", "/api/v1/stats")
        self.assertEqual((caught.exception.code, caught.exception.status), ("UNREACHABLE", None))

    def test_options_that_cannot_work(self):
        for options in ({"url": None}, {"url": "localhost:3000"}, {"key": None}, {"timeout": 0}, {"patience": -1}):
            with self.assertRaises(TypeError):
                Governance(**{"url": URL, "key": "x", **options})

    def test_faults_of_fields(self):
        with self.assertRaises(GovernanceError) as caught:
            OPERATOR.request("POST", "/api/v1/entities", {"type": "", "name": "x"})
        self.assertEqual(caught.exception.code, "VALIDATION_ERROR")
        self.assertEqual([fault["field"] for fault in caught.exception.details], ["type"])

    def test_pages(self):
        kind = f"page-{self.suffix}"
        for made in range(5):
            OPERATOR.request("POST", "/api/v1/entities", {"type": kind, "name": str(made)})
        names = [entity["name"] for entity in OPERATOR.pages("/api/v1/entities", {"type": kind, "limit": 2})]
        self.assertEqual(names, ["0", "1", "2", "3", "4"])


if __name__ == "__main__":
    unittest.main()
