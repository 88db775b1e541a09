"""What the client does with answers that the service gives seldom: a server of its own stands in for the service."""

import base64
import json
import os
import ssl
import threading
import unittest
import unittest.mock
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import governance as module
from governance import ActionCarriedOut, ApprovalPending, Governance, GovernanceError, OutcomeUnknown, ResultNotReported

EXECUTION = {"id": "exe_1", "decisionId": "dec_1", "failureReason": None, "result": None}


def execution(outcome, **members):
    return 200, {**EXECUTION, "outcome": outcome, **members}


def refusal(status, code, **members):
    return status, {"error": {"code": code, "message": "Refused.", "requestId": "req_1", **members}}


class Service(BaseHTTPRequestHandler):
    """Answers each request with the next of `answers`, and the last of them from then on."""

    answers = []
    received = []
    callers = []

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.received.append((self.path, self.headers.get("Idempotency-Key"), json.loads(body or b"null")))
        self.callers.append(self.headers.get("Authorization"))
        status, content, *headers = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if status == 0:
            self.close_connection = True
            return
        text = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(text)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_):
        pass


#: The connection ends without an answer.
LOST = (0, None)


class ErrorsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
        cls.url = f"http://127.0.0.1:{cls.server.server_port}"
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def service(self, *answers, patience=0, key="key"):
        Service.answers, Service.received, Service.callers = list(answers), [], []
        return Governance(self.url, key, patience=patience)

    def error_of(self, kind, governance, wait=0):
        """Of a guarded block that must not run."""
        with self.assertRaises(kind) as caught:
            with governance.guard("send", "mail", "mails/1", agent="bot", wait=wait):
                self.fail("It ran.")
        return caught.exception

    def test_lost_answer_to_taking_up_an_approval_leaves_the_outcome_unknown(self):
        error = self.error_of(OutcomeUnknown, self.service(execution("approved"), LOST))
        self.assertEqual((error.code, error.is_outcome_unknown), ("UNREACHABLE", True))
        self.assertEqual([path.rsplit("/", 1)[-1] for path, *_ in Service.received], ["execute", "resume"])

    def test_service_that_goes_away_while_its_handler_runs_leaves_the_outcome_unknown(self):
        self.error_of(OutcomeUnknown, self.service(execution("running"), LOST))

    def test_end_of_the_wait_is_the_reason(self):
        for outcome in ("rejected", "expired", "cancelled"):
            governance = self.service(execution("pending_approval"), execution(outcome))
            error = self.error_of(GovernanceError, governance, wait=60)
            self.assertEqual((error.code, error.reason), (f"EXECUTION_{outcome.upper()}", outcome))

    def test_wait_need_not_have_an_end(self):
        governance = self.service(execution("pending_approval"), execution("rejected"))
        error = self.error_of(GovernanceError, governance, wait=float("inf"))
        self.assertEqual((error.code, error.reason), ("EXECUTION_REJECTED", "rejected"))

    def test_approval_that_an_equal_call_used_during_the_wait_authorises_nothing_and_gives_its_outcome(self):
        kinds = {"executed": ActionCarriedOut, "failed": GovernanceError, "interrupted": OutcomeUnknown}
        for outcome in ("authorized", "running", "executed"):
            for last, kind in kinds.items():
                used = refusal(409, "INVALID_STATE")
                looks = [execution(outcome), used, execution("authorized"), execution(last, result=7)]
                with unittest.mock.patch.object(module, "_HOLD_PAUSE", 0.01):
                    error = self.error_of(kind, self.service(execution("pending_approval"), *looks), wait=60)
                self.assertEqual((type(error), getattr(error, "result", 7)), (kind, 7))
                self.assertEqual(Service.received[2][0], "/api/v1/executions/exe_1/resume")

    def test_path_that_would_be_of_another_resource_is_not_sent(self):
        governance = self.service((200, {}))
        for claim in ("", ".", "..", "%2e%2E", "%2E", "a/../b"):
            with self.assertRaises(ValueError):
                governance.request("DELETE", f"/api/v1/entities/ent_1/claims/{claim}")
        for path in ("", "api/v1/stats", "//other.example/api", "/api/v1/agents/pay bot", "/api/v1/agents/b\u00f6t"):
            with self.assertRaises(ValueError):
                governance.request("GET", path)
        with self.assertRaises(ValueError):
            with governance.guard("send", "mail", "mails/1", agent=".."):
                self.fail("It ran.")
        self.assertEqual(Service.received, [])

    def test_goes_through_a_proxy_only_where_it_is_told_to(self):
        direct = self.service((200, {"agentId": "bot"}))
        with unittest.mock.patch.dict(os.environ, {"http_proxy": "http://127.0.0.1:9", "no_proxy": ""}):
            for url in (self.url, f"{self.url}/api/v1/"):
                self.assertEqual(Governance(url, "key", patience=0).own_agent(), "bot")
                self.assertEqual(Service.received[-1][0], "/api/v1/me")
            self.assertEqual(direct.own_agent(), "bot")
        proxied = Governance("http://service.example", "key", patience=0, proxy=self.url)
        self.assertEqual(proxied.own_agent(), "bot")
        self.assertEqual(Service.received[-1][0], "http://service.example/api/v1/me")

    def test_service_that_is_away_when_the_wait_ends_is_unreachable(self):
        error = self.error_of(GovernanceError, self.service(execution("pending_approval"), LOST), wait=0.01)
        self.assertEqual((type(error), error.code), (GovernanceError, "UNREACHABLE"))

    def test_nothing_was_sent_to_who_has_a_certificate_that_is_not_trusted(self):
        untrusted = ssl.SSLCertVerificationError("self-signed certificate")
        with unittest.mock.patch.object(module._HttpsConnection, "connect", side_effect=untrusted):
            error = self.error_of(GovernanceError, Governance("https://service.example", "key", patience=0))
        self.assertEqual((type(error), error.code, error.is_outcome_unknown), (GovernanceError, "UNREACHABLE", False))

    def test_explanation_is_asked_for_what_policies_explain(self):
        denied = refusal(403, "PERMISSION_DENIED", reason="no_policy_allows")
        error = self.error_of(GovernanceError, self.service(denied, (200, {"effect": "deny"})))
        self.assertEqual(error.explanation, {"effect": "deny"})
        # What may not ask to execute may still evaluate, and would be told that all is allowed.
        for reason in ("scope_missing", "not_this_agent", "approval_rejected"):
            other = refusal(403, "PERMISSION_DENIED", reason=reason)
            error = self.error_of(GovernanceError, self.service(other, (200, {"effect": "allow"})))
            self.assertEqual((error.explanation, len(Service.received)), (None, 1))

    def test_pending_approval_has_its_execution(self):
        error = self.error_of(ApprovalPending, self.service(execution("pending_approval")))
        self.assertEqual((error.status, error.reason, error.execution["id"]), (202, "approval_pending", "exe_1"))

    def test_denied_without_an_explanation_where_the_caller_may_not_ask_for_one(self):
        denied = refusal(403, "POLICY_DENIED")
        error = self.error_of(GovernanceError, self.service(denied, refusal(403, "PERMISSION_DENIED")))
        self.assertEqual((error.code, error.request_id, error.explanation), ("POLICY_DENIED", "req_1", None))

    def test_refused_request_after_a_lost_answer_does_not_say_that_nothing_happened(self):
        error = self.error_of(OutcomeUnknown, self.service(LOST, refusal(401, "AUTHENTICATION_FAILED"), patience=30))
        self.assertEqual(error.status, 401)

    def test_busy_service_is_asked_again_with_the_same_key(self):
        busy = (*refusal(429, "RATE_LIMITED"), ("Retry-After", "1"))
        governance = self.service(busy, refusal(503, "UNAVAILABLE"), (200, {"id": "ent_1"}), patience=30)
        self.assertEqual(governance.request("POST", "/api/v1/entities", {})["id"], "ent_1")
        self.assertEqual(len({key for _, key, _ in Service.received}), 1)
        self.assertEqual(len(Service.received), 3)

    def test_service_that_asks_for_more_time_than_there_is_patience_is_not_asked_again(self):
        busy = (*refusal(429, "RATE_LIMITED"), ("Retry-After", "3600"))
        with self.assertRaises(GovernanceError) as caught:
            self.service(busy, patience=1).request("GET", "/api/v1/stats")
        self.assertEqual((caught.exception.code, caught.exception.retry_after), ("RATE_LIMITED", 3600))
        self.assertEqual(len(Service.received), 1)

    def test_date_until_which_the_service_asks_to_wait_is_by_its_own_clock(self):
        for retry_after, seconds in (("Fri, 01 Jan 2999 01:00:00 GMT", 3600), ("Thu, 31 Dec 2998 23:00:00 GMT", 0), ("soon", 0)):
            busy = (*refusal(503, "UNAVAILABLE"), ("Date", "Fri, 01 Jan 2999 00:00:00 GMT"), ("Retry-After", retry_after))
            with self.assertRaises(GovernanceError) as caught:
                self.service(busy).request("GET", "/api/v1/stats")
            self.assertEqual((caught.exception.retry_after, len(Service.received)), (seconds, 1))

    def test_date_until_which_to_wait_is_by_the_own_clock_where_the_answer_has_none(self):
        for headers in ((), (("Date", "today"),)):
            busy = (*refusal(503, "UNAVAILABLE"), ("Retry-After", "Fri, 01 Jan 2999 00:00:00 GMT"), *headers)
            with self.assertRaises(GovernanceError) as caught:
                self.service(busy, patience=30).request("GET", "/api/v1/stats")
            self.assertEqual((caught.exception.retry_after, len(Service.received)), (86_400, 1))

    def test_a_wait_of_any_length_is_one_of_a_day_at_most(self):
        for retry_after in ("9999999999", "9" * 400):
            busy = (*refusal(503, "UNAVAILABLE"), ("Retry-After", retry_after))
            with self.assertRaises(GovernanceError) as caught:
                self.service(busy, patience=30).request("GET", "/api/v1/stats")
            self.assertEqual((caught.exception.retry_after, len(Service.received)), (86_400, 1))

    def test_lost_change_is_not_sent_again_as_it_could_undo_what_others_changed(self):
        with self.assertRaises(GovernanceError) as caught:
            self.service(LOST, (200, {}), patience=30).request("PUT", "/api/v1/entities/ent_1", {"name": "x"})
        self.assertEqual((caught.exception.is_outcome_unknown, len(Service.received)), (True, 1))
        for status in (502, 503, 504):
            with self.assertRaises(GovernanceError) as caught:
                self.service((status, b"upstream reset"), (200, {}), patience=30).request(
                    "PUT", "/api/v1/entities/ent_1", {"name": "x"}
                )
            self.assertEqual((caught.exception.is_outcome_unknown, len(Service.received)), (True, 1))
        busy = refusal(503, "UNAVAILABLE")
        self.service(busy, (200, {}), patience=30).request("PUT", "/api/v1/entities/ent_1", {"name": "x"})
        self.service(LOST, (204, b""), patience=30).request("DELETE", "/api/v1/entities/ent_1")
        self.assertEqual(len(Service.received), 2)

    def test_lost_secret_is_not_asked_for_again(self):
        for route in ("/api/v1/api-keys", "/api/v1/webhooks", "/api/v1/webhooks/whk_1/rotate-secret"):
            with self.assertRaises(GovernanceError):
                self.service(LOST, patience=30).request("POST", route, {})
            self.assertEqual([key for _, key, _ in Service.received], [None])

    def test_answer_that_cannot_be_read_is_an_error_of_the_client(self):
        for text in (b"[" * 100_000, b"\xff\xfe", b"{"):
            with self.assertRaises(GovernanceError) as caught:
                self.service((200, text)).request("GET", "/api/v1/stats")
            self.assertEqual((caught.exception.code, caught.exception.is_outcome_unknown), ("UNEXPECTED_ANSWER", True))

    def test_value_that_is_refused_is_recorded_by_its_size_and_its_failure_too(self):
        governance = self.service(execution("authorized"), refusal(400, "VALIDATION_ERROR"), execution("executed"))
        with governance.guard("send", "mail", "mails/1", agent="bot") as running:
            running.result = {"a": 1}
        self.assertEqual([body for *_, body in Service.received[1:]], [
            {"outcome": "executed", "result": {"a": 1}},
            {"outcome": "executed", "result": {"omitted": "The result was not accepted as a value.", "bytes": 7}},
        ])
        governance = self.service(execution("authorized"), refusal(400, "VALIDATION_ERROR"), execution("failed"))
        with self.assertRaises(ValueError):
            with governance.guard("send", "mail", "mails/1", agent="bot"):
                raise ValueError("\ud800")
        self.assertEqual(Service.received[-1][-1], {
            "outcome": "failed", "failureReason": "Its reason could not be recorded.",
        })

    def test_outcome_that_is_not_on_record_is_with_the_caller(self):
        gone = refusal(404, "NOT_FOUND")
        for answers in ([gone], [refusal(413, "PAYLOAD_TOO_LARGE"), gone]):
            with self.assertRaisesRegex(ResultNotReported, "was carried out, .* Do not repeat the action") as caught:
                with self.service(execution("authorized"), *answers).guard("send", "mail", "a", agent="bot") as running:
                    running.result = 3
            self.assertEqual((caught.exception.result, caught.exception.execution["id"]), (3, "exe_1"))
        with self.assertRaisesRegex(ResultNotReported, "ran and failed, .* Do not repeat the action") as caught:
            with self.service(execution("authorized"), gone).guard("send", "mail", "a", agent="bot"):
                raise ValueError("The mailbox is full.")
        self.assertEqual(str(caught.exception.result), "The mailbox is full.")

    def test_agent_has_to_be_named_if_the_key_is_bound_to_none(self):
        with self.assertRaisesRegex(TypeError, "bound to no agent"):
            with self.service((200, {"agentId": None})).guard("send", "mail", "mails/1"):
                self.fail("It ran.")

    def test_key_that_cannot_be_fetched_is_the_error_and_nothing_is_sent(self):
        def sealed():
            raise OSError("The vault is sealed.")

        self.assertIn("sealed", str(self.error_of(OSError, self.service(execution("authorized"), key=sealed))))
        self.assertEqual(Service.received, [])

    def keys_sent(self, *keys):
        """When the answer to the first attempt is lost, and a function returns another key each time."""
        left = list(keys)
        governance = self.service(LOST, LOST, (201, {"id": "ent_1"}), patience=30, key=lambda: left.pop(0))
        governance.request("POST", "/api/v1/entities", {"type": "retry"})
        self.assertEqual(len({key for _, key, _ in Service.received}), 1)
        return [caller.replace("Bearer ", "") for caller in Service.callers]

    def test_error_of_a_function_that_asks_a_service_for_the_key_is_shown_as_it_is(self):
        refused = self.service((500, {"error": {"code": "INTERNAL_ERROR", "message": "No key today."}}))
        governance = Governance(self.url, lambda: refused.request("POST", "/api/v1/keys", {}))
        with self.assertRaisesRegex(GovernanceError, "No key today"):
            governance.request("POST", "/api/v1/entities", {"type": "asked"})

    def test_request_whose_answer_was_lost_is_repeated_by_the_same_caller(self):
        self.assertEqual(self.keys_sent("agk_1", "agk_2", "agk_1"), ["agk_1"] * 3)

    def test_request_whose_answer_was_lost_is_repeated_with_a_new_token_for_the_same_subject(self):
        def token(subject, expiry):
            claims = json.dumps({"iss": "https://issuer.example", "sub": subject, "exp": expiry})
            return f"e30.{base64.urlsafe_b64encode(claims.encode()).decode().rstrip('=')}.c2ln"

        old, new, other = token("bot", 1), token("bot", 22), token("somebody", 1)
        self.assertEqual(self.keys_sent(old, new, other), [old, new, old])

    def test_key_as_a_file_has_it_is_used_without_its_line_break(self):
        self.assertEqual(self.service((200, {"agentId": "bot"}), key="key\n").own_agent(), "bot")

    def test_key_that_no_header_can_carry_is_not_shown(self):
        for key in ("agk_SECRET\nagk_OTHER", "agk_SECRET\u2028x", " "):
            error = self.error_of(ValueError, self.service(execution("authorized"), key=key))
            self.assertNotIn("SECRET", f"{error!r} {error.__cause__!r} {error.__context__!r}")
        self.assertEqual(Service.received, [])


if __name__ == "__main__":
    unittest.main()
