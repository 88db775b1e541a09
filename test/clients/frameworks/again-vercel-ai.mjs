import { governedTools } from 'agent-governance-frameworks/vercel-ai';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';
import { callOnce } from './models/vercel-ai.mjs';
import { governance, refund, runs, print } from './shop.mjs';

const made = tool({ description: 'Succeed', inputSchema: z.object({ amount: z.number() }), execute: refund });
const tools = governedTools(governance, { succeed: made });
const call = { toolCallId: 'call-succeed', toolName: 'succeed' };
// An earlier turn, in which a call with the same id was answered by a person.
const earlier = [
  { role: 'user', content: 'Do it.' },
  {
    role: 'assistant',
    content: [
      { type: 'tool-call', ...call, input: { amount: 4 } },
      { type: 'tool-approval-request', approvalId: 'one', toolCallId: call.toolCallId },
    ],
  },
  { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'one', approved: true }] },
  { role: 'tool', content: [{ type: 'tool-result', ...call, output: { type: 'text', value: 'refunded 4' } }] },
  { role: 'assistant', content: 'Done.' },
];

async function turn(messages) {
  const model = callOnce('succeed', { amount: 5 }, [], ({ role }) => role === 'user');
  const { content } = await generateText({ model, tools, messages, stopWhen: stepCountIs(3), maxRetries: 0 });
  return content.map(({ type }) => type);
}

const first = await turn([{ role: 'user', content: 'Do it.' }]);
const again = await turn([...earlier, { role: 'user', content: 'Do it again.' }]);
await print({ first, again, ran: runs.length });
