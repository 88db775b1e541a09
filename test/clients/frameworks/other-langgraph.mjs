import { ToolMessage } from '@langchain/core/messages';
import { governanceMiddleware } from 'agent-governance-frameworks/langchain';
import { governance, print } from './shop.mjs';

// A graph of a version that keeps the answers to its interrupts elsewhere.
const runtime = { configurable: { thread_id: 'other' }, interrupt: () => 'answered' };
const request = { toolCall: { name: 'note', args: { amount: 5 }, id: 'one' }, runtime };
let ran = 0;
const tool = async () => {
  ran += 1;
  return new ToolMessage({ content: 'noted', tool_call_id: 'one' });
};
const { wrapToolCall } = governanceMiddleware(governance, { interrupt: true });
const answer = await wrapToolCall(request, tool).then(
  ({ text }) => text,
  ({ message }) => message,
);
await print({ ran, said: answer });
