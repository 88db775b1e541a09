"""Minimal stand-ins for what the adapters use of LangGraph, the OpenAI Agents SDK and the MCP package, for tests on machines that
have not installed them. They have the names and the protocol of the real packages, and nothing more; where one is installed, it is used.
"""

import contextvars
import copy
import dataclasses
import importlib.util
import sys
import types


def provide():
    """Makes the modules importable that are not installed. Returns the names of the packages that were stood in for."""
    packages = {"langgraph": _langgraph, "agents": _agents, "mcp": _mcp}
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    for name in missing:
        for path, members in packages[name]().items():
            module = types.ModuleType(path)
            vars(module).update(members)
            sys.modules[path] = module
    return missing


#: Answers with which a graph was resumed, and how many of them its interrupts have taken.
RESUMED = contextvars.ContextVar("resumed")


def _langgraph():
    class GraphBubbleUp(Exception):
        pass

    class GraphInterrupt(GraphBubbleUp):
        pass

    class ParentCommand(GraphBubbleUp):
        pass

    class ToolMessage:
        def __init__(self, content, tool_call_id, name=None, status="success"):
            self.content, self.tool_call_id, self.name, self.status = content, tool_call_id, name, status

    @dataclasses.dataclass
    class ToolCallRequest:
        tool_call: dict
        tool: object
        state: object
        runtime: object

        def override(self, **overrides):
            return dataclasses.replace(self, **overrides)

    def interrupt(value):
        answers = RESUMED.get()
        if answers["taken"] == len(answers["given"]):
            raise GraphInterrupt([types.SimpleNamespace(value=value)])
        answers["taken"] += 1
        return answers["given"][answers["taken"] - 1]

    class ToolNode:
        """Calls tools as langgraph.prebuilt.ToolNode does: what a tool raises is raised, what a graph would do is not."""

        def __init__(self, tools, wrap_tool_call=None, awrap_tool_call=None):
            self._tools = {tool.__name__: tool for tool in tools}
            self._wrap, self._awrap = wrap_tool_call, awrap_tool_call

        def _request(self, call, thread):
            runtime = types.SimpleNamespace(config={"configurable": {"thread_id": thread}})
            return ToolCallRequest(call, self._tools[call["name"]], {}, runtime)

        def call(self, call, thread="1", resumed=()):
            RESUMED.set({"given": list(resumed), "taken": 0})
            return self._wrap(self._request(call, thread), lambda request: _answer(request.tool(**request.tool_call["args"]), request))

        async def acall(self, call, thread="1", resumed=()):
            RESUMED.set({"given": list(resumed), "taken": 0})

            async def execute(request):
                return _answer(await request.tool(**request.tool_call["args"]), request)

            return await self._awrap(self._request(call, thread), execute)

    def _answer(answer, request):
        call = request.tool_call
        return answer if isinstance(answer, ToolMessage) else ToolMessage(answer, call["id"], call["name"])

    return {
        "langchain_core": {},
        "langchain_core.messages": {"ToolMessage": ToolMessage},
        "langgraph": {},
        "langgraph.errors": {"GraphBubbleUp": GraphBubbleUp, "ParentCommand": ParentCommand, "GraphInterrupt": GraphInterrupt},
        "langgraph.types": {"interrupt": interrupt},
        "langgraph.prebuilt": {"ToolNode": ToolNode},
    }


def _agents():
    @dataclasses.dataclass
    class FunctionTool:
        name: str
        description: str
        params_json_schema: dict
        on_invoke_tool: object
        strict_json_schema: bool = True
        needs_approval: object = False

        def __copy__(self):
            return dataclasses.replace(self)

    return {"agents": {"FunctionTool": FunctionTool}}


def _mcp():
    class CallToolResult:
        def __init__(self, content, isError=False):
            self.content, self.isError = content, isError

        @classmethod
        def model_validate(cls, given):
            return cls(**given)

        def model_dump(self, mode, by_alias, exclude_none):
            return copy.deepcopy({"content": self.content, "isError": self.isError})

    return {"mcp": {}, "mcp.types": {"CallToolResult": CallToolResult}}
