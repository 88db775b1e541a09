"""Lets every tool of a LangGraph ToolNode (langgraph 1) ask before it runs:

    ToolNode([pay], **governed_tool_calls(governance, wait=300))

An agent of LangChain takes the same as `wrap_tool_call` of a middleware.
"""

from __future__ import annotations

import collections
import dataclasses
import json
from typing import Any, Awaitable, Callable, Generator, Optional

from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp, ParentCommand
from langgraph.types import interrupt

from governance import ActionCarriedOut, Governance, GovernanceError, GuardedExecution, ResultNotReported, _copied
from governance_async import AsyncGuard, _in_thread, _report
from governance_tools import ToolRules, carried_out_text, not_reported_text, permit_of, refusal

__all__ = ["governed_tool_calls"]

#: Maximum number of paused calls: a graph need not be resumed, so they must not add up.
_MAX_PAUSED = 1_000

#: A kind of step, and its argument.
_Step = tuple[str, Any]


def governed_tool_calls(governance: Governance, *, interrupts: bool = False, **options: Any) -> dict[str, Any]:
    """The arguments `wrap_tool_call` and `awrap_tool_call` of a ToolNode.

    :param interrupts: interrupts the graph while an approval is pending; this needs a checkpointer. A resumed graph
        checks again. The value of the interrupt is `{"message": …, "decisionId": …}`. A tool that interrupts the graph
        itself continues under the same execution if it is resumed with the same ToolNode.
    :param options: see `ToolRules`; functions get the ToolRuntime of the call.
    """
    calls = _ToolCalls(ToolRules(governance, **options), interrupts)
    return {"wrap_tool_call": calls.wrap, "awrap_tool_call": calls.awrap}


class _ToolFailure(Exception):
    """A failure that a tool returned as its message."""


@dataclasses.dataclass(frozen=True)
class _Paused:
    #: The interrupts for its approval, in their order: a resumed graph answers them before the tool's own.
    questions: tuple[dict[str, Optional[str]], ...] = ()
    #: The execution under which the tool had begun, if the tool itself interrupted the graph.
    execution: Optional[GuardedExecution] = None


class _ToolCalls:
    def __init__(self, rules: ToolRules, interrupts: bool) -> None:
        self._rules = rules
        self._interrupts = interrupts
        self._paused: collections.OrderedDict[str, _Paused] = collections.OrderedDict()

    def wrap(self, request: Any, execute: Callable[[Any], Any]) -> Any:
        steps: dict[str, Callable[[Any], Any]] = {
            "ask": lambda guard: guard.__enter__(),
            "look": self._goes_on,
            "run": execute,
            "report": lambda given: given[0].__exit__(type(given[1]) if given[1] else None, given[1], None),
        }
        flow = self._flow(request)
        resume, value = flow.send, None
        while True:
            try:
                kind, given = resume(value)
            except StopIteration as end:
                return end.value
            try:
                resume, value = flow.send, steps[kind](given)
            except BaseException as error:
                resume, value = flow.throw, error

    async def awrap(self, request: Any, execute: Callable[[Any], Awaitable[Any]]) -> Any:
        steps: dict[str, Callable[[Any], Awaitable[Any]]] = {
            "ask": lambda guard: AsyncGuard(guard).__aenter__(),
            "look": lambda execution: _in_thread(lambda: self._goes_on(execution)),
            "run": execute,
            "report": lambda given: _report(*given),
        }
        flow = self._flow(request)
        resume, value = flow.send, None
        while True:
            try:
                kind, given = resume(value)
            except StopIteration as end:
                return end.value
            try:
                resume, value = flow.send, await steps[kind](given)
            except BaseException as error:
                resume, value = flow.throw, error

    def _flow(self, request: Any) -> Generator[_Step, Any, Any]:
        """Carries out one call. Yields its steps, which the caller takes at once or awaits."""
        call = {**request.tool_call, "args": _copied(request.tool_call["args"])}
        name, key = call["name"], _identity(request)
        paused = self._paused.get(key, _Paused())
        for question in paused.questions:
            interrupt(question)
        self._paused.pop(key, None)
        questions, execution = paused.questions, paused.execution
        if execution is not None and not (yield "look", execution):
            return _message(call, f"{name} was paused, and did not go on: its execution is over.", "error")
        while execution is None:
            try:
                execution = yield "ask", self._rules.guard(name, call["args"], request.runtime)
            except ActionCarriedOut as done:
                return _message(call, carried_out_text(done), "success")
            except GovernanceError as error:
                refused = refusal(name, error)
            if execution is None:
                if not (refused.is_pending and self._interrupts):
                    return _message(call, str(refused), "error")
                question = {"message": str(refused), "decisionId": refused.decision_id}
                questions = (*questions, question)
                self._keep(key, _Paused(questions))
                interrupt(question)
                self._paused.pop(key, None)
        try:
            # A generator sets the context variables of its caller, so the tool sees the permit.
            with permit_of(execution):
                answer = yield "run", request.override(tool_call=call)
        except ParentCommand:
            # A tool that ended by leading on to another graph.
            yield "report", (execution, None)
            raise
        except GraphBubbleUp:
            self._keep(key, _Paused(questions, execution))
            raise
        except BaseException as error:
            yield "report", (execution, error)
            raise
        content = getattr(answer, "content", None)
        execution.result = content
        failure = _ToolFailure(str(content)) if getattr(answer, "status", None) == "error" else None
        try:
            yield "report", (execution, failure)
        except ResultNotReported as error:
            # A graph that ended here would be resumed before the call.
            if content is not None:
                answer.content = not_reported_text(content if isinstance(content, str) else json.dumps(content), error)
        return answer

    def _goes_on(self, execution: GuardedExecution) -> bool:
        """True if a paused execution may continue: meanwhile somebody may have closed it, or suspended the agent."""
        path = f"/api/v1/executions/{execution.execution['id']}"
        return bool(self._rules.governance.request("GET", path)["outcome"] == "authorized")

    def _keep(self, key: str, paused: _Paused) -> None:
        self._paused[key] = paused
        self._paused.move_to_end(key)
        if len(self._paused) > _MAX_PAUSED:
            self._paused.popitem(last=False)


def _identity(request: Any) -> str:
    """Returns the key of a call. It covers the arguments, which a person who resumes the graph can change."""
    call, config = request.tool_call, getattr(request.runtime, "config", None) or {}
    thread = config.get("configurable", {}).get("thread_id")
    return json.dumps([thread, call.get("id"), call["name"], call["args"]], sort_keys=True, default=str)


def _message(call: Any, content: str, status: str) -> Any:
    return ToolMessage(content=content, name=call["name"], tool_call_id=call.get("id") or "", status=status)
