"""Lets the tool calls of an MCP client (the package mcp) ask before they are sent:

    session = GovernedSession(ClientSession(read, write), governance, server="shop", wait=300)

It is used like the ClientSession. As with `gov mcp`, the action is the tool, and the resource `<server>/<tool>` of the type `tool`.
This governs only a client of your own; in front of a client that you cannot change, put `gov mcp`.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

try:
    from mcp.types import CallToolResult
except ImportError:
    # From version 2 on.
    from mcp_types import CallToolResult

from governance import ActionCarriedOut, Governance, GovernanceError, ResultNotReported, _copied
from governance_async import AsyncGuard
from governance_tools import ToolRequest, ToolRules, refusal

__all__ = ["GovernedSession"]


class _ToolFailure(Exception):
    """A failure that a tool returned as its result."""


class GovernedSession:
    """A ClientSession whose tools ask before they are called; everything else is the session's own.

    :param server: the name of the server in policies, whatever name the server gives itself.
    :param options: see `ToolRules`; `permit` is not among them, since no server would get it. Functions get the name of
        the tool.
    """

    def __init__(self, session: Any, governance: Governance, *, server: str, **options: Any) -> None:
        def of_server(tool: str, arguments: Mapping[str, Any]) -> ToolRequest:
            return ToolRequest(tool, "tool", f"{server}/{tool}")

        if "permit" in options:
            raise TypeError("GovernedSession takes no permit: the server would not get it.")
        self._session = session
        rules: dict[str, Any] = {"request_of": of_server, **options}
        self._rules = ToolRules(governance, **rules)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    async def __aenter__(self) -> "GovernedSession":
        await self._session.__aenter__()
        return self

    async def __aexit__(self, *positional: Any) -> Any:
        return await self._session.__aexit__(*positional)

    async def call_tool(self, name: str, arguments: Optional[dict[str, Any]] = None, *positional: Any, **named: Any) -> Any:
        result: Any = None
        # The requested arguments are sent, even if the caller changes its own while the call waits.
        sent_arguments = _copied(arguments)
        try:
            async with AsyncGuard(self._rules.guard(name, sent_arguments or {}, name)) as execution:
                result = await self._session.call_tool(name, sent_arguments, *positional, **named)
                execution.result = result.model_dump(mode="json", by_alias=True, exclude_none=True)
                if execution.result.get("isError"):
                    raise _ToolFailure(str(execution.result["content"]))
        except _ToolFailure:
            return result
        except ActionCarriedOut as done:
            return _text(str(done.result))
        except ResultNotReported as error:
            if result is None:
                raise
            return _text(str(error), result)
        except GovernanceError as error:
            return _text(str(refusal(name, error)), is_error=True)
        return result


def _text(text: str, after: Any = None, is_error: bool = False) -> Any:
    """Returns a result with a text for the model, after the content of the tool's answer."""
    dumped = {} if after is None else after.model_dump(mode="json", by_alias=True, exclude_none=True)
    content = [*dumped.get("content", []), {"type": "text", "text": text}]
    return CallToolResult.model_validate({"isError": is_error, **dumped, "content": content})
