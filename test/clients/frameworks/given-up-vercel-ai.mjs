import { governedTools } from 'agent-governance-frameworks/vercel-ai';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';
import { callOnce } from './models/vercel-ai.mjs';
import { giveUp, governance, refund, reportedByAnother, print } from './shop.mjs';

const seen = [];
const inputSchema = z.object({ amount: z.number() });
const toolOf = (execute) => tool({ description: 'One', inputSchema, execute });
const tools = governedTools(governance, { note: toolOf(reportedByAnother), refund: toolOf(refund) }, { wait: 60 });
const generate = (name, abortSignal) =>
  generateText({
    model: callOnce(name, { amount: 5 }, seen),
    ...{ tools, abortSignal, prompt: 'Do it.', stopWhen: stepCountIs(3), maxRetries: 0 },
  });

await generate('note');
const message = seen.at(-1);
const ran = await giveUp('refund', (signal) => generate('refund', signal));
await print({ message, ran });
