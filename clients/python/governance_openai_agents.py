"""Lets a tool of the OpenAI Agents SDK (openai-agents, from 0.3) ask before it runs:

    Agent(name="payer", tools=[governed(governance, pay, wait=300)])

Without `wait`, a call that needs an approval interrupts the run, where the SDK has that: approve the interruption once the decision is
made, and run the state again. Only an approval of the service lets the tool run. Make the tool with
`failure_error_function=None`, so that an error of the tool is recorded as its failure; otherwise the SDK turns the
error into a text before this module sees it.
"""

from __future__ import annotations

import copy
import inspect
import json
from typing import Any, Mapping, TypeVar

from governance import ActionCarriedOut, Governance, GovernanceError, ResultNotReported
from governance_async import AsyncGuard, _in_thread
from governance_tools import ToolRules, carried_out_text, not_reported_text, permit_of, refusal

__all__ = ["governed"]

_Tool = TypeVar("_Tool")


def governed(governance: Governance, tool: _Tool, **options: Any) -> _Tool:
    """Returns a copy of a FunctionTool that is checked before it runs.

    :param options: see `ToolRules`; functions get the ToolContext of the call.
    """
    rules = ToolRules(governance, **options)
    checked_tool: Any = copy.copy(tool)
    name, invoke, own = checked_tool.name, checked_tool.on_invoke_tool, getattr(checked_tool, "needs_approval", None)

    async def on_invoke_tool(context: Any, tool_input: str) -> Any:
        try:
            guard = rules.guard(name, _arguments(tool_input), context)
            async with AsyncGuard(guard) as execution:
                with permit_of(execution):
                    execution.result = await invoke(context, tool_input)
        except ActionCarriedOut as done:
            return carried_out_text(done)
        except ResultNotReported as error:
            if isinstance(error.result, BaseException):
                raise
            return not_reported_text(str(error.result), error)
        except GovernanceError as error:
            return str(refusal(name, error))
        return execution.result

    async def needs_approval(context: Any, arguments: Mapping[str, Any], call_id: str) -> bool:
        if own is True or (callable(own) and await _awaited(own(context, arguments, call_id))):
            return True
        return await _in_thread(lambda: rules.needs_approval(name, arguments, context))

    checked_tool.on_invoke_tool = on_invoke_tool
    # A call that waits by itself need not interrupt the run.
    if own is not None and rules.wait == 0:
        checked_tool.needs_approval = needs_approval
    return checked_tool  # type: ignore[no-any-return]


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _arguments(tool_input: str) -> Mapping[str, Any]:
    """Returns the arguments. An input that is not an object becomes a member, so that all of it is recorded and
    approved."""
    try:
        arguments = json.loads(tool_input) if tool_input else {}
    except ValueError:
        arguments = tool_input
    return arguments if isinstance(arguments, dict) else {"input": arguments}
