"""The adapters against the service at GOVERNANCE_URL: with the real packages where they are installed, otherwise with stand-ins."""

import asyncio
import base64
import json
import types
import unittest

import stand_ins

STOOD_IN = stand_ins.provide()

from company import PATIENCE, Company  # noqa: E402
from governance_langgraph import governed_tool_calls  # noqa: E402
from governance_mcp import CallToolResult, GovernedSession  # noqa: E402
from governance_openai_agents import governed  # noqa: E402
from governance_tools import ToolRequest, current_permit  # noqa: E402

print("Stood in for:", ", ".join(STOOD_IN) or "nothing")


def by_order(tool, arguments):
    return ToolRequest(tool, "payment", f"orders/{arguments['order']}")


def audience_of(permit):
    claims = permit.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["aud"]


class AdapterTest(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.company = Company()
        cls.governance = cls.company.governance

    def newest(self, action):
        return self.company.executions(action=action)[-1]


class LangGraphTest(AdapterTest):
    def setUp(self):
        self.runs = []

        def send(to):
            """Sends a mail."""
            self.runs.append(to)
            if to == "nobody":
                raise ValueError("There is no nobody.")
            return f"sent to {to}"

        def refund(order):
            """Refunds an order."""
            self.runs.append(order)
            return "refunded"

        def secret():
            """Is allowed to nobody."""
            self.fail("It ran.")

        self.tools = [send, refund, secret]

    def node(self, **options):
        return _node(self.tools, governed_tool_calls(self.governance, **options))

    def test_allowed_runs_and_is_recorded(self):
        def of_thread(runtime):
            return runtime.config["configurable"]["thread_id"]

        answer = self.node(run=of_thread).call({"name": "send", "args": {"to": "carol"}, "id": "1"}, thread="7")
        self.assertEqual((answer.content, answer.tool_call_id), ("sent to carol", "1"))
        found = self.newest("send")
        self.assertEqual((found["outcome"], found["result"], found["resourceId"]), ("executed", "sent to carol", "send"))
        self.assertEqual((found["parameters"], found["run"]), ({"to": "carol"}, "7"))

    def test_a_tool_has_the_permit_for_its_call(self):
        def send(to):
            """Sends a mail."""
            return current_permit()

        async def send_later(to):
            """Sends a mail."""
            await asyncio.sleep(0)
            return current_permit()

        call = {"name": "send", "args": {"to": "carol"}, "id": "1"}
        self.tools = [send]
        self.assertEqual(audience_of(self.node(permit="bank").call(call).content), "bank")
        send_later.__name__ = "send"
        self.tools = [send_later]
        self.assertEqual(audience_of(asyncio.run(self.node(permit="bank").acall(call)).content), "bank")
        self.assertIsNone(current_permit())

    def test_denied_is_told_to_the_model(self):
        answer = self.node().call({"name": "secret", "args": {}, "id": "1"})
        self.assertEqual(answer.status, "error")
        self.assertIn("secret did not run. No policy in force allows this.", answer.content)

    def test_failure_is_recorded(self):
        with self.assertRaises(ValueError):
            self.node().call({"name": "send", "args": {"to": "nobody"}, "id": "1"})
        self.assertEqual(self.newest("send")["failureReason"], "There is no nobody.")

    def test_pending_is_told_and_the_same_call_runs_once_approved(self):
        call = {"name": "refund", "args": {"order": f"{self.company.suffix}-1"}, "id": "1"}
        node = self.node()
        self.assertIn("with exactly the same arguments", node.call(call).content)
        self.company.approve()
        self.assertEqual(node.call(call).content, "refunded")
        self.assertEqual(len(self.runs), 1)

    def test_interrupts_until_it_is_approved(self):
        call = {"name": "refund", "args": {"order": f"{self.company.suffix}-2"}, "id": "1"}
        node = self.node(interrupts=True)
        with self.assertRaises(_interrupt()) as interrupted:
            node.call(call)
        question = interrupted.exception.args[0][0].value
        self.assertIn("refund did not run.", question["message"])
        self.assertEqual(question["decisionId"], self.newest("refund")["decisionId"])
        with self.assertRaises(_interrupt()):
            # Somebody resumes the graph, but nobody has approved.
            node.call(call, resumed=["go"])
        self.company.approve()
        self.assertEqual(node.call(call, resumed=["go", "go"]).content, "refunded")
        self.assertEqual(len(self.runs), 1)

    def test_a_tool_that_interrupts_the_graph_itself_goes_on_under_its_execution(self):
        from langgraph.types import interrupt

        def refund(order):
            """Refunds an order after it has asked how much."""
            self.runs.append(order)
            return f"refunded {interrupt('How much?')}"

        self.tools = [refund]
        call = {"name": "refund", "args": {"order": f"{self.company.suffix}-3"}, "id": "1"}
        node = self.node(interrupts=True)
        with self.assertRaises(_interrupt()):
            node.call(call)
        self.company.approve()
        with self.assertRaises(_interrupt()):
            node.call(call, resumed=["go"])
        self.assertEqual(self.newest("refund")["outcome"], "authorized")
        self.assertEqual(node.call(call, resumed=["go", "80"]).content, "refunded 80")
        self.assertEqual(self.newest("refund")["outcome"], "executed")

    def test_asynchronous_tools_are_governed_likewise(self):
        async def send(to):
            """Sends a mail."""
            await asyncio.sleep(0)
            return f"sent to {to}"

        async def refund(order):
            """Refunds an order."""
            return "refunded"

        self.tools = [send, refund]
        node = self.node()
        answer = asyncio.run(node.acall({"name": "send", "args": {"to": "dave"}, "id": "1"}))
        self.assertEqual((answer.content, self.newest("send")["result"]), ("sent to dave", "sent to dave"))
        call = {"name": "refund", "args": {"order": f"{self.company.suffix}-4"}, "id": "1"}
        self.assertEqual(asyncio.run(node.acall(call)).status, "error")
        self.company.approve()
        self.assertEqual(asyncio.run(node.acall(call)).content, "refunded")


def _interrupt():
    from langgraph.errors import GraphInterrupt

    return GraphInterrupt


def _node(tools, wrappers):
    from langgraph.prebuilt import ToolNode

    node = ToolNode(tools, **wrappers)
    return node if "langgraph" in STOOD_IN else _Graph(node)


class _Graph:
    """A graph of the real LangGraph around a ToolNode, with the methods of the stand-in."""

    def __init__(self, node):
        from langgraph.checkpoint.memory import InMemorySaver
        from langgraph.graph import START, MessagesState, StateGraph

        graph = StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools")
        self._graph = graph.compile(checkpointer=InMemorySaver())

    def _given(self, call, thread, resumed):
        from langchain_core.messages import AIMessage
        from langgraph.types import Command

        called = {"messages": [AIMessage("", tool_calls=[call])]}
        return Command(resume=resumed[-1]) if resumed else called, {"configurable": {"thread_id": thread}}

    def _answer(self, state):
        if "__interrupt__" in state:
            raise _interrupt()(state["__interrupt__"])
        return state["messages"][-1]

    def call(self, call, thread="1", resumed=()):
        return self._answer(self._graph.invoke(*self._given(call, thread, resumed)))

    async def acall(self, call, thread="1", resumed=()):
        return self._answer(await self._graph.ainvoke(*self._given(call, thread, resumed)))


class OpenAiAgentsTest(AdapterTest):
    def tool(self, name, invoke, **options):
        from agents import FunctionTool

        schema = {"type": "object", "properties": {}, "additionalProperties": True}
        tool = FunctionTool(name=name, description=name, params_json_schema=schema, on_invoke_tool=invoke, strict_json_schema=False)
        return governed(self.governance, tool, request_of=by_order, **options)

    async def invoke(self, context, given):
        self.ran = json.loads(given)
        if self.ran.get("fails"):
            raise ValueError("It failed.")
        return "done"

    async def test_allowed_runs_and_is_recorded(self):
        tool = self.tool("send", self.invoke, on_behalf_of=None, run=lambda context: context.run)
        given = {"order": "1", "to": "carol"}
        context = types.SimpleNamespace(run="conversation")
        self.assertFalse(await tool.needs_approval(context, given, "call_1"))
        self.assertEqual(await tool.on_invoke_tool(context, json.dumps(given)), "done")
        found = self.newest("send")
        self.assertEqual((found["result"], found["parameters"], found["resourceId"]), ("done", given, "orders/1"))
        self.assertEqual((self.ran, found["run"]), (given, "conversation"))

    async def test_a_tool_has_the_permit_for_its_call(self):
        async def invoke(context, given):
            return current_permit()

        tool = self.tool("send", invoke, permit="bank")
        self.assertEqual(audience_of(await tool.on_invoke_tool(None, '{"order": "3"}')), "bank")
        self.assertIsNone(current_permit())

    async def test_denied_is_told_to_the_model(self):
        tool = self.tool("secret", self.invoke)
        self.assertFalse(await tool.needs_approval(None, {"order": "1"}, "call_1"))
        self.assertIn("secret did not run.", await tool.on_invoke_tool(None, '{"order": "1"}'))

    async def test_failure_is_recorded_and_raised(self):
        with self.assertRaisesRegex(ValueError, "It failed."):
            await self.tool("send", self.invoke).on_invoke_tool(None, '{"order": "2", "fails": true}')
        self.assertEqual(self.newest("send")["failureReason"], "It failed.")

    async def test_only_an_approval_of_the_service_lets_it_run(self):
        given = {"order": f"{self.company.suffix}-5"}
        tool = self.tool("refund", self.invoke, agent=self.company.bot["name"])
        self.assertTrue(await tool.needs_approval(None, given, "call_1"))
        self.assertIn("refund did not run.", await tool.on_invoke_tool(None, json.dumps(given)))
        self.company.approve()
        self.assertFalse(await tool.needs_approval(None, given, "call_1"))
        self.assertEqual(await tool.on_invoke_tool(None, json.dumps(given)), "done")
        self.assertEqual(len(self.company.executions(resourceId=f"orders/{given['order']}")), 1)

    async def test_with_wait_it_does_not_interrupt_the_run(self):
        given = {"order": f"{self.company.suffix}-6"}
        tool = self.tool("refund", self.invoke, wait=PATIENCE)
        self.assertIs(tool.needs_approval, False)
        invoking = asyncio.create_task(tool.on_invoke_tool(None, json.dumps(given)))
        await asyncio.to_thread(self.company.approve)
        self.assertEqual(await invoking, "done")


class Session:
    """An MCP server's tools, as a ClientSession has them."""

    def __init__(self):
        self.called = []

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None

    async def list_tools(self):
        return ["send", "refund"]

    async def call_tool(self, name, arguments=None, read_timeout_seconds=None, progress_callback=None):
        self.called.append((name, arguments, read_timeout_seconds))
        is_error = (arguments or {}).get("to") == "nobody"
        content = [{"type": "text", "text": "There is no nobody." if is_error else "done"}]
        return CallToolResult.model_validate({"content": content, "isError": is_error})


class McpTest(AdapterTest):
    def text(self, result):
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)["content"][-1]["text"]

    async def asyncSetUp(self):
        self.session = Session()
        self.governed = GovernedSession(self.session, self.governance, server="shop", run=lambda tool: f"run of {tool}")

    async def test_allowed_is_sent_and_recorded_and_the_rest_is_the_sessions(self):
        async with self.governed as session:
            self.assertEqual(await session.list_tools(), ["send", "refund"])
            result = await session.call_tool("send", {"to": "carol"}, read_timeout_seconds=5)
        self.assertEqual((self.text(result), self.session.called), ("done", [("send", {"to": "carol"}, 5)]))
        found = self.newest("send")
        self.assertEqual((found["resourceType"], found["resourceId"], found["run"]), ("tool", "shop/send", "run of send"))
        self.assertEqual(found["result"]["content"][0]["text"], "done")

    async def test_takes_no_permit_as_the_server_would_not_get_it(self):
        with self.assertRaisesRegex(TypeError, "no permit"):
            GovernedSession(self.session, self.governance, server="shop", permit="bank")

    async def test_refused_is_an_error_for_the_model_and_is_not_sent(self):
        for tool, why in (("secret", "No policy in force allows this."), ("refund", "Once it is approved")):
            result = await self.governed.call_tool(tool, {})
            self.assertTrue(result.model_dump(mode="json", by_alias=True, exclude_none=True)["isError"])
            self.assertIn(why, self.text(result))
        self.assertEqual(self.session.called, [])

    async def test_the_error_of_a_tool_is_recorded_as_its_failure(self):
        result = await self.governed.call_tool("send", {"to": "nobody"})
        self.assertEqual(self.text(result), "There is no nobody.")
        self.assertEqual(self.newest("send")["outcome"], "failed")

    async def test_approved_is_sent_once(self):
        arguments = {"order": f"{self.company.suffix}-7"}
        await self.governed.call_tool("refund", arguments)
        self.company.approve()
        self.assertEqual(self.text(await self.governed.call_tool("refund", arguments)), "done")
        self.assertEqual(self.text(await self.governed.call_tool("refund", arguments))[:7], "refund ")
        self.assertEqual(len(self.session.called), 1)

    async def test_what_was_approved_is_sent_whatever_becomes_of_the_arguments_meanwhile(self):
        session = GovernedSession(self.session, self.governance, server="shop", run="waits", wait=PATIENCE)
        order = f"{self.company.suffix}-8"
        arguments = {"order": order, "items": [{"amount": 1}]}
        calling = asyncio.create_task(session.call_tool("refund", arguments))
        await asyncio.to_thread(lambda: self.company.approve(run="waits"))
        arguments["items"][0]["amount"] = 1_000
        arguments["order"] = "another"
        self.assertEqual(self.text(await calling), "done")
        self.assertEqual(self.session.called, [("refund", {"order": order, "items": [{"amount": 1}]}, None)])


del AdapterTest

if __name__ == "__main__":
    unittest.main()
