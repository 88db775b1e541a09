import { governanceMiddleware } from 'agent-governance-frameworks/langchain';
import { governed } from 'agent-governance-frameworks/openai-agents';
import { governedTools } from 'agent-governance-frameworks/vercel-ai';
import { ToolMessage } from 'langchain';
import { setTimeout as sleep } from 'node:timers/promises';
import { approveAll, governance, outcomes, print, refund, runs } from './shop.mjs';

const options = { wait: 60 };
const { refund: ofSdk } = governedTools(governance, { refund: { execute: refund } }, options);
const ofAgents = governed(governance, { name: 'refund', execute: refund }, options);
const ofGraph = governanceMiddleware(governance, options);
const runtime = { configurable: {} };
const answer = ({ toolCall: { id, args } }) => new ToolMessage({ tool_call_id: id, content: refund(args) });
const calls = [
  (input) => ofSdk.execute(input, { toolCallId: 'one', messages: [] }),
  (input) => ofAgents.execute(input),
  (input) => ofGraph.wrapToolCall({ toolCall: { id: 'one', name: 'refund', args: input }, runtime }, answer),
];

// The input of each call changes while the call waits for its approval.
for (const call of calls) {
  const input = { amount: 10 };
  const running = call(input);
  while (!(await outcomes()).includes('refund pending_approval')) await sleep(20);
  input.amount = 9_999;
  await approveAll();
  await running;
}
const { data } = await governance.get('/api/v1/executions');
await print({ runs, recorded: data.map(({ parameters }) => parameters.amount) });
