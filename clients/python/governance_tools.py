"""Shared by the adapters for agent frameworks: the request about a tool call, and the text for the model if the tool did not run."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import urllib.parse
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence, Union

from governance import (
    ActionCarriedOut,
    ApprovalPending,
    Governance,
    GovernanceError,
    Guard,
    GuardedExecution,
    OutcomeUnknown,
    ResultNotReported,
)

__all__ = ["NotPermitted", "ToolRequest", "ToolRules", "current_permit"]

_permit: contextvars.ContextVar[Optional[str]] = contextvars.ContextVar("permit", default=None)


def current_permit() -> Optional[str]:
    """Returns, within a tool that runs, the permit for its call, which the tool sends to the system that it acts on; or
    None."""
    return _permit.get()

#: The outcomes of an execution that nobody has begun to carry out.
_NOT_BEGUN = {"pending_approval", "approved", "authorized", "rejected", "expired", "cancelled", "denied"}


class NotPermitted(Exception):
    """The tool did not run. The message is for the model: what was refused, why, and what would change that."""

    def __init__(self, message: str, is_pending: bool = False, decision_id: Optional[str] = None) -> None:
        super().__init__(message)
        #: True if the call only waits for an approval: the same call succeeds once that is given.
        self.is_pending = is_pending
        #: The decision that the call waits for; None if it does not wait.
        self.decision_id = decision_id


@dataclasses.dataclass(frozen=True)
class ToolRequest:
    """The request to the policies about a call of a tool."""

    action: str
    resource_type: str
    resource_id: str
    #: JSON Pointers to arguments that the service must not keep, in addition to those that it knows by their names.
    secret: Optional[Sequence[str]] = None


def _by_name(tool: str, arguments: Mapping[str, Any]) -> ToolRequest:
    return ToolRequest(tool, "tool", tool)


@dataclasses.dataclass(frozen=True)
class ToolRules:
    """The rules by which calls of tools become requests.

    :param agent: id or name of the acting agent; the agent that the key is bound to unless given.
    :param request_of: maps the tool's name and arguments to a request; without it action and resource are the tool's name.
    :param on_behalf_of: for whom the agent acts, or a function of the value that the framework passes along with a
        call.
    :param run: the conversation or task, the same when a call is repeated after its approval; may be a function.
    :param wait: seconds that a call waits for its approval; with 0 the model learns at once that it is pending.
    :param permit: the system that is shown the authorisation, one of the service's PERMIT_AUDIENCES: `current_permit()`
        returns a token for it.
    """

    governance: Governance
    agent: Optional[str] = None
    request_of: Callable[[str, Mapping[str, Any]], ToolRequest] = _by_name
    on_behalf_of: Union[None, Mapping[str, Any], Callable[[Any], Optional[Mapping[str, Any]]]] = None
    run: Union[None, str, Callable[[Any], Optional[str]]] = None
    wait: float = 0
    permit: Optional[str] = None

    def guard(self, tool: str, arguments: Mapping[str, Any], context: Any) -> Guard:
        """Returns the guard of one call. `context` is the value that the framework passes along with it."""
        tool_request = self.request_of(tool, arguments)
        return self.governance.guard(
            tool_request.action,
            tool_request.resource_type,
            tool_request.resource_id,
            parameters=dict(arguments),
            agent=self.agent,
            wait=self.wait,
            on_behalf_of=self._of_context(self.on_behalf_of, context),
            run=self._of_context(self.run, context),
            permit=self.permit,
            secret=tool_request.secret,
        )

    def needs_approval(self, tool: str, arguments: Mapping[str, Any], context: Any) -> bool:
        """True if a framework should stop for people before the call. The approval is requested, so that they see it. A
        refused call needs none: its error explains the refusal.

        :raises NotPermitted: if a handler of the service has carried the call out meanwhile, or may have.
        """
        tool_request = self.request_of(tool, arguments)
        request: dict[str, Any] = {
            "action": tool_request.action,
            "resourceType": tool_request.resource_type,
            "resourceId": tool_request.resource_id,
            "parameters": dict(arguments),
        }
        if tool_request.secret is not None:
            request["secret"] = list(tool_request.secret)
        for name, given in (("onBehalfOf", self.on_behalf_of), ("run", self.run)):
            value = self._of_context(given, context)
            if value is not None:
                request[name] = value
        try:
            agent = self.agent or self.governance.own_agent()
            answer = self.governance.request("POST", "/api/v1/policies/evaluate", {"agent": agent, **request})
            if answer["effect"] != "require_approval":
                return False
            execution = self.governance.request("POST", f"/api/v1/agents/{urllib.parse.quote(agent, '')}/execute", request)
        except GovernanceError as error:
            if error.is_outcome_unknown:
                raise NotPermitted(_unknown(tool, error)) from error
            return False
        if execution["outcome"] not in _NOT_BEGUN:
            raise NotPermitted(f"The service has carried {tool} out itself, or may have. Do not call it again.")
        if execution["outcome"] == "authorized":
            # The policies have changed in between. The call itself requests its own authorisation.
            only_checked = NotPermitted("This request only checked whether the call needs an approval.")
            GuardedExecution(self.governance, execution).__exit__(NotPermitted, only_checked, None)
        return bool(execution["outcome"] == "pending_approval")

    @staticmethod
    def _of_context(given: Any, context: Any) -> Any:
        return given(context) if callable(given) else given


@contextlib.contextmanager
def permit_of(execution: GuardedExecution) -> Iterator[None]:
    """Sets the result of `current_permit` while a tool runs."""
    token = _permit.set(execution.permit)
    try:
        yield
    finally:
        _permit.reset(token)


def refusal(tool: str, error: GovernanceError) -> NotPermitted:
    """Returns the text for the model about a call that did not run."""
    if isinstance(error, OutcomeUnknown):
        return NotPermitted(_unknown(tool, error))
    if isinstance(error, ApprovalPending):
        again = "Once it is approved, call the tool again with exactly the same arguments."
        return NotPermitted(f"{tool} did not run. {error} {again}", True, error.execution["decisionId"])
    return NotPermitted(f"{tool} did not run. {error}")


def carried_out_text(done: ActionCarriedOut) -> str:
    """Returns the text for the model about a call that the service, or an equal call, has carried out."""
    return str(done.result)


def not_reported_text(answer: str, error: ResultNotReported) -> str:
    """Returns the tool's answer, with the note that the tool must not be called again."""
    return f"{answer}\n{error}"


def _unknown(tool: str, error: GovernanceError) -> str:
    return f"It is not known whether {tool} was carried out: do not call it again before somebody has looked. {error}"
