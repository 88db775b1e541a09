"""Client of the agent governance service: one file, standard library only, Python 3.10 or later.

    governance = Governance("http://127.0.0.1:3000", os.environ["GOVERNANCE_API_KEY"])

    @governance.guard("send-payment", "payment", lambda number, amount: f"payments/{number}",
                      parameters=lambda number, amount: {"amount": amount}, wait=300)
    def pay(number, amount): ...

    with governance.guard("send-payment", "payment", "payments/2026/0042", wait=300) as execution:
        execution.result = bank.send(1200)

`guard` requests the action, waits for the approval that a policy requires, lets the function or block run once, and
reports the outcome, also when it raises.
"""

from __future__ import annotations

import base64
import concurrent.futures
import copy
import dataclasses
import datetime
import email.message
import email.utils
import functools
import http.client
import inspect
import io
import json
import math
import random
import socket
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence, Union

try:
    from opentelemetry import trace as _trace
except ImportError:
    _trace = None

__all__ = [
    "ActionCarriedOut",
    "ApprovalPending",
    "Governance",
    "GovernanceError",
    "OutcomeUnknown",
    "ResultNotReported",
]

#: Status of the service if it did nothing; a proxy also answers it for what the service may have done.
_NOT_READY = 503
#: Statuses of which a later request may get another: the service is busy or not ready, or a proxy does not reach it.
_TEMPORARY = {429, 502, _NOT_READY, 504}
#: Paths whose answers contain a secret that is shown once: they accept no Idempotency-Key, so a lost answer is not
#: requested again.
_SECRETS = ("/api-keys", "/webhooks", "/rotate-secret")
#: Seconds.
_FIRST_PAUSE = 0.25
_MAX_PAUSE_SECONDS = 30.0
#: Seconds for which the service holds one request: less than the 60 after which many proxies cut it.
_MAX_HOLD_SECONDS = 50
#: Seconds of a day: a wait that is longer than the system allows would be an error.
_MAX_RETRY_AFTER = 86_400.0
#: Seconds between two requests if the service does not hold them, because too many wait already, or it is away.
_HOLD_PAUSE = 1.5
#: Minimum seconds for which a caller waits for the outcome of an action that an equal call carries out.
_LEAST_FOLLOWING = 60.0
#: Recorded in place of a result.
_OMITTED = "The result was not accepted as a value."
#: Seconds to retry reporting a result while the service does not answer: a completed action has to be recorded.
_REPORT_PATIENCE = 600.0
_FAILURE_LENGTH = 2000
#: Outcomes of a request for approval that cannot be executed.
_CLOSED = {"rejected", "expired", "cancelled"}
#: Reasons of a refusal that an evaluation of the same request can give, too. For other refusals, such as a missing
#: scope, the evaluation would give another reason. `npm run openapi` writes these.
_EXPLAINED = {
    "no_policy_allows",
    "policy_denied",
    "capability_missing",
    "agent_suspended",
    "principal_suspended",
    "stopped",
    "approval_required",
    "approval_too_large",
    "limit_reached",
    "extension_refused",
}
#: Outcomes of an execution that is not final.
_OPEN = {"pending_approval", "approved", "authorized", "running"}
#: Segments that turn a URL into that of another resource, plain or percent-encoded.
_DOTS = {"", ".", ".."}
#: Kinds of functions that return before their code has run: nobody would report its outcome.
_RUNS_LATER = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
_TOO_FEW_APPROVERS = "Nobody, or too few, could approve it when it was asked for: an approver has to be added first."
_GUARD_A_FUNCTION = "guard a function that is over when it returns, or an async def with AsyncGovernance."

_PerCall = Union[Any, Callable[..., Any]]


#: Maximum number of characters that are shown of a reviewer's words.
_MAX_WORDS_LENGTH = 500


def _reviewers_words(rejection: Optional[Mapping[str, Any]]) -> str:
    """Returns a reviewer's words, marked as such, on one line and cut if they are long."""
    comment, instead = (rejection or {}).get("comment"), (rejection or {}).get("instead")
    words = ""
    if comment:
        words += f"\nThe words of the reviewer who rejected it: {json.dumps(_cut(comment), ensure_ascii=False)}"
    if instead:
        how = "when requested" if instead["grantId"] is None else "which may be executed once"
        parameters = _cut(json.dumps(instead["parameters"], ensure_ascii=False))
        words += f"\nWhat the reviewer would approve instead, {how}: {parameters}"
    return words


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_WORDS_LENGTH else f"{text[:_MAX_WORDS_LENGTH]}… (cut)"


class GovernanceError(Exception):
    """Every refusal and failure of the service. Branch on `code` and `reason`; the message is for people."""

    def __init__(
        self,
        message: str,
        code: str,
        status: Optional[int] = None,
        reason: Optional[str] = None,
        request_id: Optional[str] = None,
        details: Optional[list[Any]] = None,
        rejection: Optional[Mapping[str, Any]] = None,
        decision_id: Optional[str] = None,
        execution_id: Optional[str] = None,
    ) -> None:
        super().__init__(f"{message}{_reviewers_words(rejection)}")
        self.code = code
        #: HTTP status; None if there was no answer.
        self.status = status
        self.reason = reason
        #: Identifies the request in the logs of the service.
        self.request_id = request_id
        #: The faults of fields: a list of {"field", "message"}.
        self.details = details or []
        #: The words of the reviewer who rejected the action, and the action that the reviewer would approve instead:
        #: {"comment", "instead"}; None unless a reviewer rejected it.
        self.rejection = rejection
        #: The decision that the refusal is about; None without one.
        self.decision_id = decision_id
        #: The execution that records the refusal of an execute; None otherwise.
        self.execution_id = execution_id
        #: The explanation of a denial, and of what would change it; None unless policies, or the agent's state, denied
        #: the action to `guard`.
        self.explanation: Any = None
        #: True if the request may have been carried out: the service may have received it, and gave no answer of its
        #: own.
        self.is_outcome_unknown = False
        #: Seconds that the service wants the client to wait.
        self.retry_after = 0.0


class ApprovalPending(GovernanceError):
    """The approval has not been given yet. Asking again with the same arguments continues the same request."""

    def __init__(self, execution: Mapping[str, Any], is_feasible: bool = True) -> None:
        message = f"The action waits for the approval of the decision {execution['decisionId']}."
        if not is_feasible:
            message = f"{message} {_TOO_FEW_APPROVERS}"
        super().__init__(message, "APPROVAL_PENDING", 202, "approval_pending")
        self.execution = execution
        #: False if the service says that there are not enough approvers. It says so only to the request that asked first.
        self.is_feasible = is_feasible


class OutcomeUnknown(GovernanceError):
    """No answer came to a request that may have made a handler of the service carry the action out, or the service stopped while
    its handler ran. The function was not called. Do not repeat the action before you know: look at the executions of the agent."""

    def __init__(self, cause: GovernanceError) -> None:
        advice = "Whether a handler of the service carried the action out is not known: look at the executions of the agent before you repeat it."
        super().__init__(f"{cause} {advice}", cause.code, cause.status, cause.reason, cause.request_id, cause.details)
        self.explanation = cause.explanation
        self.is_outcome_unknown = True


class ResultNotReported(GovernanceError):
    """The action ran, and the service did not accept its outcome. Do not repeat the action."""

    def __init__(self, execution: Mapping[str, Any], result: Any, is_failure: bool) -> None:
        #: What the function or block returned or raised.
        self.result = result
        what = (
            f"The action ran and failed, which could not be reported for the execution {execution['id']}."
            if is_failure
            else f"The action was carried out, but the result of the execution {execution['id']} could not be reported."
        )
        super().__init__(f"{what} Do not repeat the action.", "RESULT_NOT_REPORTED")
        self.execution = execution


class ChangePending(GovernanceError):
    """Nothing has changed: a second person has to approve it first. Once the decision is approved, repeat the same request with
    `change=error.decision_id`."""

    def __init__(self, decision: Mapping[str, Any]) -> None:
        message = (
            f"{decision['change']['summary']} Nothing has changed yet: a second person has to approve the decision {decision['id']} "
            "first. Then repeat the same request with its id as `change`."
        )
        super().__init__(message, "CHANGE_PENDING", 202, decision_id=decision["id"])
        self.decision = decision
        #: Path of the decision.
        self.location = f"/api/v1/decisions/{decision['id']}"


class ActionCarriedOut(GovernanceError):
    """A handler of the service, or an equal call that waited for the same approval, has carried the action out: the block of a
    `with` must not run. `result` is the recorded result."""

    def __init__(self, execution: Mapping[str, Any]) -> None:
        message = f"The execution {execution['id']} has been carried out by the service itself, or by an equal call."
        super().__init__(message, "ACTION_CARRIED_OUT", 200, "executed")
        self.execution = execution
        self.result = execution["result"]


class Governance:
    """The service.

    :param key: a key or a token, or a function that returns one and is called before each attempt. A POST whose answer was lost is
        repeated by the same caller alone: with the key of that attempt, or a token for the same subject.
    :param patience: seconds for which a request is repeated while the service is busy or unreachable.
    :param timeout: seconds after which an answer that has not come counts as lost.
    :param proxy: URL of the proxy to go through; without it requests go straight to the service, whatever the environment says.
    """

    def __init__(
        self,
        url: str,
        key: Union[str, Callable[[], str]],
        patience: float = 30.0,
        timeout: float = 90.0,
        proxy: Optional[str] = None,
    ) -> None:
        if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")):
            raise TypeError(f"url is the address of the service, such as http://127.0.0.1:3000; it was {url}.")
        if not isinstance(key, str) and not callable(key):
            kind = "None" if key is None else f"of the type {type(key).__name__}"
            raise TypeError(f"key must be an API key, a token, or a function that returns one; it was {kind}.")
        if not patience >= 0 or not timeout > 0:
            raise TypeError("patience is seconds, 0 or more; timeout is more than 0.")
        # An address that ends in /api/v1 stands for the service's address.
        self._url = url.rstrip("/").removesuffix("/api/v1")
        self._key = key
        self._patience = patience
        self._timeout = timeout
        self._agent: Optional[str] = None
        # A followed redirect would carry the key to another address.
        proxies = {} if proxy is None else {"http": proxy, "https": proxy}
        proxying = urllib.request.ProxyHandler(proxies)
        self._opener = urllib.request.build_opener(proxying, _NoRedirects(), _Http(), _Https())

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Optional[Mapping[str, Any]] = None,
        patience: Optional[float] = None,
        change: Optional[str] = None,
    ) -> Any:
        """Returns the parsed answer of a route; None for an answer without a body. A request that a busy or missing
        service did not answer is repeated for `patience` seconds with the same Idempotency-Key. After the first request
        that got no answer in time, it is sent once more even if the patience is used up.

        :param change: the id of the approved decision on this change, which is made now.
        :raises GovernanceError: for every refusal, and where nobody answers.
        :raises ChangePending: if a second person has to approve the change first.
        :raises ValueError: before anything is sent, for a path with a segment that is empty or of dots, which would
            name another resource, and for a path that is not percent-encoded.
        """
        _require_plain_path(path)
        has_secret = method == "POST" and path.endswith(_SECRETS)
        text = urllib.parse.urlencode({name: value for name, value in (query or {}).items() if value is not None}, True)
        url = f"{self._url}{path}" + (f"?{text}" if text else "")
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if method == "POST" and not has_secret:
            headers["Idempotency-Key"] = str(uuid.uuid4())
        if change is not None:
            headers["Change"] = change
        headers.update(_trace_headers())
        # A change that is sent again could undo later changes by others. A deletion can be sent again: the deleted
        # stays deleted.
        is_harmless = "Idempotency-Key" in headers if method == "POST" else method not in ("PUT", "PATCH")
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        patience = self._patience if patience is None else patience
        timeout = self._timeout + float((query or {}).get("wait") or 0)
        end = time.monotonic() + patience
        pause = _FIRST_PAUSE
        is_outcome_unknown = False
        last: Optional[GovernanceError] = None
        # An Idempotency-Key counts only for its caller: with another caller, the request would take effect once more.
        caller: Optional[str] = None
        while True:
            try:
                key = self._key_of(caller)
                authorization = _bearer(key)
            except Exception:
                # This attempt has no key. It is still unknown if an earlier attempt took effect.
                if last is not None and is_outcome_unknown:
                    raise last
                raise
            try:
                answer = self._attempt(method, url, data, {**headers, "Authorization": authorization}, timeout)
                break
            except GovernanceError as error:
                last = error
                # A later attempt that is refused says nothing about an earlier one.
                is_outcome_unknown = is_outcome_unknown or _may_have_happened(error)
                error.is_outcome_unknown = is_outcome_unknown
                if is_outcome_unknown and "Idempotency-Key" in headers:
                    caller = caller or key
                wait = max(pause * random.uniform(0.75, 1.25), error.retry_after)
                is_first_silence = _is_silence(error) and pause == _FIRST_PAUSE and patience > 0
                is_over = time.monotonic() + wait > end and not is_first_silence
                may_repeat = is_harmless or not _may_have_happened(error)
                if not _is_temporary(error) or not may_repeat or is_over:
                    raise
            time.sleep(wait)
            pause = min(2 * pause, _MAX_PAUSE_SECONDS)
        _require_made(method, path, answer)
        return answer

    def pages(self, path: str, query: Optional[Mapping[str, Any]] = None) -> Iterator[Any]:
        """All records of a list, page by page as they are needed."""
        parameters = dict(query or {})
        while True:
            page = self.request("GET", path, query=parameters)
            yield from page["data"]
            if page.get("nextCursor") is None:
                return
            parameters = {"cursor": page["nextCursor"], "limit": parameters.get("limit")}

    def guard(
        self,
        action: str,
        resource_type: str,
        resource_id: _PerCall,
        parameters: _PerCall = None,
        agent: Optional[str] = None,
        wait: float = 0,
        on_behalf_of: _PerCall = None,
        run: _PerCall = None,
        permit: Optional[str] = None,
        secret: Optional[Sequence[str]] = None,
    ) -> "Guard":
        """A decorator and a context manager around what an agent does.

        :param resource_id: a text; for a decorator also a function of the call's arguments. The same holds for
            `parameters`.
        :param agent: id or name; the agent that the key is bound to unless given.
        :param wait: seconds to wait for an approval that is needed.
        :param on_behalf_of: for whom the agent acts, such as {"subject": "user:4711", "roles": ["finance"]}; may be a
            function.
        :param run: the conversation or task that it is part of, the same when the request is repeated after its approval; may be a function.
        :param permit: the system that is shown the authorisation, one of the service's PERMIT_AUDIENCES. The function
            gets a token for it as its argument `permit`; in a `with`, the execution has the token. It is None if the
            service issued none.
        :param secret: JSON Pointers to values in the parameters that the service must not keep, in addition to those that it knows by
            their names.
        """
        return Guard(self, action, resource_type, resource_id, parameters, agent, wait, on_behalf_of, run, permit, secret)

    def own_agent(self) -> str:
        """Returns the agent that the key is bound to."""
        if self._agent is None:
            self._agent = self.request("GET", "/api/v1/me")["agentId"]
        if self._agent is None:
            raise TypeError("The key is bound to no agent: say which agent acts (agent).")
        return self._agent

    def _key_of(self, caller: Optional[str]) -> str:
        key = self._key if isinstance(self._key, str) else self._key()
        return key if caller is None or _is_same_caller(caller, key) else caller

    def _attempt(
        self, method: str, url: str, data: Optional[bytes], headers: Mapping[str, str], timeout: float
    ) -> Any:
        sent = urllib.request.Request(url, data, dict(headers), method=method)
        try:
            with self._opener.open(sent, timeout=timeout) as response:
                text = response.read()
                is_infeasible = response.headers.get("Approval-Feasible") == "false"
        except urllib.error.HTTPError as error:
            with error:
                raise _error_of(error) from None
        except (OSError, http.client.HTTPException) as error:
            fault = f"did not answer within {timeout:g} seconds" if _is_timeout(error) else "cannot be reached"
            raise GovernanceError(f"The governance service at {self._url} {fault}.", "UNREACHABLE") from error
        try:
            body = json.loads(text) if text else None
        except (ValueError, RecursionError):
            raise _unexpected(text.decode("utf-8", "replace"), None) from None
        return _Infeasible(body) if is_infeasible and isinstance(body, dict) else body


def _require_made(method: str, path: str, answer: Any) -> None:
    if method == "GET" or path.startswith("/api/v1/decisions") or not isinstance(answer, dict):
        return
    change = answer.get("change")
    if answer.get("type") == "change" and isinstance(change, dict) and "bodyHash" in change:
        raise ChangePending(answer)


def _is_same_caller(one: str, other: str) -> bool:
    """True if the service regards two keys or tokens as one caller: a key by its text, a token by its issuer and
    subject."""
    subject = _subject_of(one)
    return one.strip() == other.strip() or (subject is not None and subject == _subject_of(other))


def _subject_of(token: str) -> Any:
    """Returns the issuer and subject of a token; None if the text is not a token."""
    try:
        _, claims, _ = token.strip().split(".")
        found = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        return found["iss"], found["sub"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None


def _bearer(key: str) -> str:
    """White space at the ends of a key, as from a file, is not part of it. Errors do not show the key."""
    stripped = key.strip()
    if not stripped or any(not "!" <= character <= "~" for character in stripped):
        raise ValueError("The key is empty, or has a character inside that no key has, such as a line break.")
    return f"Bearer {stripped}"


class Guard:
    """One guarded action: use it as a decorator, or in a `with`."""

    def __init__(
        self,
        governance: Governance,
        action: str,
        resource_type: str,
        resource_id: _PerCall,
        parameters: _PerCall,
        agent: Optional[str],
        wait: float,
        on_behalf_of: _PerCall,
        run: _PerCall,
        permit: Optional[str] = None,
        secret: Optional[Sequence[str]] = None,
    ) -> None:
        self._governance = governance
        self._action = action
        self._resource_type = resource_type
        self._resource_id = resource_id
        self._parameters = parameters
        self._agent = agent
        self._wait = wait
        self._on_behalf_of = on_behalf_of
        self._run = run
        self._permit = {} if permit is None else {"permit": {"audience": permit}}
        self._secret = {} if secret is None else {"secret": list(secret)}
        #: The lock is held by the block of a `with`, and `_entered` is its execution.
        self._is_entered = threading.Lock()
        self._entered: Optional["GuardedExecution"] = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if any(is_kind(function) for is_kind in _RUNS_LATER):
            name = getattr(function, "__qualname__", function)
            raise TypeError(f"{name} returns before it has run: {_GUARD_A_FUNCTION}")

        @functools.wraps(function)
        def guarded(*given: Any, **given_by_name: Any) -> Any:
            # Copies: the requested values run, even if the caller changes its own while the call waits.
            arguments, named = _copied(given), _copied(given_by_name)
            try:
                execution = self._permitted(arguments, named)
            except ActionCarriedOut as done:
                return done.result
            with execution:
                result = function(*arguments, **self._handed(named, execution))
                _require_ended(result)
                execution.result = result
            return execution.result

        return guarded

    def _handed(self, named: Mapping[str, Any], execution: "GuardedExecution") -> Mapping[str, Any]:
        """The keyword arguments of the function, with the token if one was requested."""
        return {**named, "permit": execution.permit} if self._permit else named

    def __enter__(self) -> "GuardedExecution":
        if not self._is_entered.acquire(blocking=False):
            raise RuntimeError("This guard is in use: each `with` needs a guard of its own.")
        try:
            self._entered = self._permitted((), {})
        except BaseException:
            self._is_entered.release()
            raise
        return self._entered.__enter__()

    def __exit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        execution, self._entered = self._entered, None
        self._is_entered.release()
        if execution is not None:
            execution.__exit__(kind, error, trace)

    def _permitted(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> "GuardedExecution":
        agent = self._agent or self._governance.own_agent()
        request = {
            "action": self._action,
            "resourceType": self._resource_type,
            "resourceId": _of_call(self._resource_id, arguments, named),
            **self._secret,
        }
        optional = {"parameters": self._parameters, "onBehalfOf": self._on_behalf_of, "run": self._run}
        for name, given in optional.items():
            value = _of_call(given, arguments, named)
            if value is not None:
                _require_plain_json(value, name)
                request[name] = value
        execution = self._request(agent, request)
        return GuardedExecution(self._governance, self._go(execution))

    def _request(self, agent: str, request: Mapping[str, Any]) -> Any:
        try:
            path = f"/api/v1/agents/{urllib.parse.quote(agent, '')}/execute"
            return self._start(path, {**request, **self._permit})
        except GovernanceError as error:
            if error.status == 403 and error.reason in _EXPLAINED:
                error.explanation = self._explanation({"agent": agent, **request, "explain": True})
            raise

    def _start(self, path: str, request: Any = None) -> Any:
        """Sends a request that may run a handler of the service."""
        try:
            return _execution(self._governance.request("POST", path, request))
        except GovernanceError as error:
            if error.is_outcome_unknown:
                raise OutcomeUnknown(error) from error
            raise

    def _explanation(self, request: Mapping[str, Any]) -> Any:
        """Loads an explanation of the refusal; None if the caller may not read it."""
        try:
            return self._governance.request("POST", "/api/v1/policies/evaluate", request, patience=0)
        except GovernanceError:
            return None

    def _go(self, execution: Any) -> Any:
        """Returns the execution once it is authorized."""
        outcome = execution["outcome"]
        is_feasible = not isinstance(execution, _Infeasible)
        execution = self._decided(execution)
        if execution["outcome"] == "pending_approval":
            raise ApprovalPending(execution, is_feasible)
        # Equal requests of other callers wait for the same execution, and may have resumed it. Only the service's answer to
        # this caller's own resume says that this caller may proceed.
        has_waited = outcome == "pending_approval"
        if execution["outcome"] not in _CLOSED and (has_waited or execution["outcome"] == "approved"):
            execution = self._resumed(execution)
        if execution["outcome"] == "running":
            try:
                execution = self._settled(execution)
            except GovernanceError as error:
                raise OutcomeUnknown(error) from error
        outcome = execution["outcome"]
        if outcome == "executed":
            raise ActionCarriedOut(execution)
        if outcome != "authorized":
            why = "." if execution["failureReason"] is None else f": {execution['failureReason']}"
            message = f"The execution {execution['id']} is {outcome}{why}"
            ended = GovernanceError(
                message, f"EXECUTION_{outcome.upper()}", reason=outcome, rejection=execution.get("rejection")
            )
            raise OutcomeUnknown(ended) if outcome == "interrupted" else ended
        return execution

    def _decided(self, execution: Any) -> Any:
        """Returns the execution once it no longer waits for approval, or when the time is over."""
        end = time.monotonic() + self._wait
        left = float(self._wait)
        away: Optional[GovernanceError] = None
        while execution["outcome"] == "pending_approval" and left > 0:
            try:
                # The request has no patience of its own, so that a repeat waits for the remaining time only.
                execution = self._look(execution, math.ceil(min(left, _MAX_HOLD_SECONDS)), patience=0)
                away = None
            except GovernanceError as error:
                if not _is_temporary(error):
                    raise
                away = error
            left = end - time.monotonic()
            if execution["outcome"] == "pending_approval" and left > 0:
                time.sleep(min(_HOLD_PAUSE, left))
                left = end - time.monotonic()
        if away is not None:
            # If the service is away, it is unknown if the execution is still pending.
            raise away
        return execution

    def _resumed(self, execution: Any) -> Any:
        """Resumes the execution. Of several callers that waited for the same approval, one resumes; the others get its
        outcome."""
        try:
            return self._start(f"/api/v1/executions/{execution['id']}/resume", {**self._permit, **self._secret} or None)
        except GovernanceError as error:
            if error.status != 409:
                raise
        end = time.monotonic() + max(self._wait, _LEAST_FOLLOWING)
        while True:
            execution = self._look(execution, 1)
            if execution["outcome"] not in _OPEN:
                return execution
            if time.monotonic() >= end:
                message = f"Another call runs the execution {execution['id']}; it has not reported the outcome yet."
                outcome = execution["outcome"]
                raise OutcomeUnknown(GovernanceError(message, f"EXECUTION_{outcome.upper()}", reason=outcome))
            time.sleep(_HOLD_PAUSE)

    def _settled(self, execution: Any) -> Any:
        """Returns the execution once the handler that runs it has ended."""
        while True:
            execution = self._look(execution, _MAX_HOLD_SECONDS)
            if execution["outcome"] != "running":
                return execution
            time.sleep(_HOLD_PAUSE)

    def _look(self, execution: Any, hold: int, patience: Optional[float] = None) -> Any:
        path = f"/api/v1/executions/{execution['id']}"
        return _execution(self._governance.request("GET", path, query={"wait": hold}, patience=patience))


class GuardedExecution:
    """An authorised action that runs now. The value of `result` is reported."""

    def __init__(self, governance: Governance, execution: Any) -> None:
        self._governance = governance
        #: The execution as the service authorised it.
        self.execution = execution
        #: The requested token, if there is one.
        self.permit: Optional[str] = execution.get("permit")
        self.result: Any = None

    def __enter__(self) -> "GuardedExecution":
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        if error is not None:
            self._report({"outcome": "failed", "failureReason": _text_of(error)[:_FAILURE_LENGTH]}, error)
        elif self.result is None or not _is_json(self.result):
            self._report({"outcome": "executed"}, self.result)
        else:
            self._report({"outcome": "executed", "result": self.result}, self.result)

    def _report(self, report: Mapping[str, Any], result: Any) -> None:
        """Reports the outcome. If the service does not accept the result, for example because it is too large, its size
        is recorded."""
        is_failure = report["outcome"] == "failed"
        try:
            self._send(report)
        except Exception as error:
            if getattr(error, "status", None) not in (400, 413):
                raise ResultNotReported(self.execution, result, is_failure) from error
            reason: Mapping[str, Any] = {"failureReason": "Its reason could not be recorded."}
            if not is_failure:
                text = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
                reason = {"result": {"omitted": _OMITTED, "bytes": len(text.encode("utf-8", "surrogatepass"))}}
            try:
                self._send({"outcome": report["outcome"], **reason})
            except Exception as second:
                raise ResultNotReported(self.execution, result, is_failure) from second

    def _send(self, report: Mapping[str, Any]) -> None:
        path = f"/api/v1/executions/{self.execution['id']}/result"
        self._governance.request("POST", path, report, patience=_REPORT_PATIENCE)


class _Infeasible(dict[str, Any]):
    """An execution whose answer says that there are not enough approvers."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class _Answer(http.client.HTTPResponse):
    """An answer for which the time limit of the connection counts as a whole, not for each part that arrives."""

    def __init__(self, sock: socket.socket, *others: Any, **named: Any) -> None:
        super().__init__(sock, *others, **named)
        self.fp = io.BufferedReader(_InTime(sock, self.fp.detach()))


class _InTime(io.RawIOBase):
    def __init__(self, sock: socket.socket, raw: io.RawIOBase) -> None:
        self._sock = sock
        self._raw = raw
        self._end = time.monotonic() + (sock.gettimeout() or math.inf)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Any:
        left = self._end - time.monotonic()
        if left <= 0:
            raise socket.timeout("timed out")
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _HttpConnection(http.client.HTTPConnection):
    """A connection to a service that may refuse a body: it then answers, and disconnects before it has read all of
    it."""

    response_class = _Answer

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        try:
            super().send(data)
        except (BrokenPipeError, ConnectionResetError):
            # The answer gives the reason. If there is no answer, reading it fails in the same way.
            pass


class _HttpsConnection(_HttpConnection, http.client.HTTPSConnection):
    pass


class _Http(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(_HttpConnection, request)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> Any:
        connection: Any = _HttpsConnection
        return self.do_open(connection, request)


def _text_of(error: BaseException) -> str:
    """Returns the text of an error, or its type if its text cannot be made: every error has to be reported."""
    try:
        return str(error).strip() or type(error).__name__
    except Exception:
        return type(error).__name__


def _of_call(value: _PerCall, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    return value(*arguments, **named) if callable(value) else value


def _require_ended(result: Any) -> None:
    if _has_yet_to_run(result):
        getattr(result, "close", lambda: None)()
        raise TypeError(f"It returned before it had run: {_GUARD_A_FUNCTION}")
    if _may_be_running(result):
        kind = type(result).__name__
        raise TypeError(
            f"It is not known whether the action was carried out, as the function returned before it ended ({kind}). "
            f"Do not repeat it before you know. From now on, {_GUARD_A_FUNCTION}"
        )


def _has_yet_to_run(result: Any) -> bool:
    return (
        (inspect.iscoroutine(result) and inspect.getcoroutinestate(result) == inspect.CORO_CREATED)
        or (inspect.isgenerator(result) and inspect.getgeneratorstate(result) == inspect.GEN_CREATED)
        or inspect.isasyncgen(result)
    )


def _may_be_running(result: Any) -> bool:
    """True for a result such as a task of asyncio, or the future of a pool of threads."""
    return (
        inspect.isawaitable(result) or inspect.isgenerator(result) or isinstance(result, concurrent.futures.Future)
    )


def _require_plain_path(path: str) -> None:
    segments = path.split("?")[0].split("/")[1:]
    if not path.startswith("/") or any(urllib.parse.unquote(segment) in _DOTS for segment in segments):
        raise ValueError(f"A path begins with / and has no segment that is empty, . or ..; it was {path!r}.")
    if any(not "!" <= character <= "~" for character in path):
        raise ValueError(f"A path is percent-encoded, as by urllib.parse.quote(name, ''); it was {path!r}.")


def _copied(value: Any) -> Any:
    """A deep copy of data. Objects of other classes, such as the `self` of a method or a connection, stay what they are."""
    if type(value) is dict:
        return {_copied(name): _copied(member) for name, member in value.items()}
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(_copied(item) for item in value)
    if isinstance(value, bytearray):
        return copy.copy(value)
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(_copied(item) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        same = copy.copy(value)
        for field in dataclasses.fields(value):
            object.__setattr__(same, field.name, _copied(getattr(value, field.name)))
        return same
    return value


def _require_plain_json(value: Any, place: str) -> None:
    """Refuses values that JSON would change: the record, and an approval, would be about another action than the one
    that runs."""
    if isinstance(value, dict):
        for name, member in value.items():
            if not isinstance(name, str):
                raise TypeError(f"{place} must be plain JSON, whose names are texts; {name!r} is none.")
            _require_plain_json(member, f"{place}.{name}")
    elif isinstance(value, (list, tuple)):
        for index, member in enumerate(value):
            _require_plain_json(member, f"{place}[{index}]")
    elif isinstance(value, float) and not math.isfinite(value) or not isinstance(value, (str, int, float, type(None))):
        raise TypeError(f"{place} must be plain JSON; it is {value!r}.")


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _is_temporary(error: GovernanceError) -> bool:
    return error.code == "UNREACHABLE" or error.status in _TEMPORARY


def _is_silence(error: GovernanceError) -> bool:
    return error.code == "UNREACHABLE" and _is_timeout(error.__cause__)


def _is_timeout(fault: Optional[BaseException]) -> bool:
    return isinstance(_fault_within(fault), socket.timeout)


def _fault_within(error: Optional[BaseException]) -> Any:
    """Returns the fault itself: urllib wraps the fault of a connection that was never made."""
    return getattr(error, "reason", error)


def _may_have_happened(error: GovernanceError) -> bool:
    # A proxy such as Envoy also answers 503 if the connection broke after it had passed the request on.
    if error.status == _NOT_READY:
        return error.code == "UNEXPECTED_ANSWER"
    if error.status is not None:
        return not 400 <= error.status < 500
    # Nothing was sent: the connection was never made, or the certificate of the server is not trusted.
    never_sent = (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError)
    return not isinstance(_fault_within(error.__cause__), never_sent)


def _execution(answer: Any) -> Any:
    """Returns the execution of an answer. A proxy may have answered instead of the service."""
    if isinstance(answer, dict) and isinstance(answer.get("id"), str) and isinstance(answer.get("outcome"), str):
        return answer
    raise _unexpected("it is not an execution.", None)


def _unexpected(text: str, status: Optional[int]) -> GovernanceError:
    shown = text[:200] if status is None else f"{status} {text[:200]}"
    error = GovernanceError(f"The answer is not the governance service's: {shown}", "UNEXPECTED_ANSWER", status)
    error.is_outcome_unknown = status is None
    return error


def _error_of(answer: urllib.error.HTTPError) -> GovernanceError:
    try:
        text = answer.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        # The status is sufficient.
        text = ""
    try:
        found = json.loads(text)["error"]
        error = GovernanceError(
            *(found["message"], found["code"], answer.code),
            *(found.get("reason"), found.get("requestId"), found.get("details"), found.get("rejection")),
            *(found.get("decisionId"), found.get("executionId")),
        )
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        is_redirect = 300 <= answer.code < 400
        place = answer.headers.get("Location", "somewhere else")
        error = _unexpected(f"a redirect to {place}. Check the URL." if is_redirect else text, answer.code)
    error.retry_after = _retry_after(answer.headers)
    return error


def _trace_headers() -> Mapping[str, str]:
    """Returns the W3C header of the active span, if the program has OpenTelemetry, and a span is active."""
    if _trace is None:
        return {}
    context = _trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"traceparent": f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"}


def _retry_after(headers: email.message.Message) -> float:
    """Returns the seconds to wait. The service, or a proxy in front of it, gives seconds, or a date by the clock of its
    header Date."""
    value = headers.get("Retry-After", "0")
    if value.isascii() and value.isdigit():
        return min(float(value), _MAX_RETRY_AFTER)
    until = _date(value)
    now = _date(headers.get("Date", "")) or datetime.datetime.now(datetime.timezone.utc)
    return 0.0 if until is None else min(max(0.0, (until - now).total_seconds()), _MAX_RETRY_AFTER)


def _date(text: str) -> Optional[datetime.datetime]:
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=datetime.timezone.utc)
