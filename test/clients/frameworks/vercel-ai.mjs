import { governedTools } from 'agent-governance-frameworks/vercel-ai';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';
import { callOnce } from './models/vercel-ai.mjs';
import { approveAll, governance, refund, runs, print } from './shop.mjs';

const seen = [];
const inputSchema = z.object({ amount: z.number() });
const made = tool({ description: 'Refund', inputSchema, execute: refund });
// The default, said: a call that needs an approval stops the framework.
const tools = governedTools(governance, { refund: made, wipe: made, fail: made }, { wait: 0 });
const generate = (name, messages) =>
  generateText({
    model: callOnce(name, { amount: 5 }, seen),
    tools,
    messages,
    stopWhen: stepCountIs(3),
    maxRetries: 0,
  });

const messages = [{ role: 'user', content: 'Refund 5.' }];
const first = await generate('refund', messages);
const request = first.content.find(({ type }) => type === 'tool-approval-request');
messages.push(...first.response.messages);
messages.push({
  role: 'tool',
  content: [{ type: 'tool-approval-response', approvalId: request.approvalId, approved: true }],
});
// The framework's own question was answered with yes; the service has no approval.
await generate('refund', messages);
const unapproved = runs.length;
await approveAll();
await generate('refund', messages);
const approved = runs.length;
await generate('refund', messages);
const again = runs.length;
await generate('wipe', [{ role: 'user', content: 'Wipe.' }]);
const denial = seen.at(-1);
await generate('fail', [{ role: 'user', content: 'Fail.' }]);
await print({ unapproved, approved, again, all: runs, denial, failure: seen.at(-1) });
