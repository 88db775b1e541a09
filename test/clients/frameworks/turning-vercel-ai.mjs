import { governedTools } from 'agent-governance-frameworks/vercel-ai';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';
import { callOnce } from './models/vercel-ai.mjs';
import { print, refund, runs, turning } from './shop.mjs';

const made = tool({ description: 'One', inputSchema: z.object({ amount: z.number() }), execute: refund });
const tools = governedTools(turning, { succeed: made });
const model = callOnce('succeed', { amount: 5 });
const generating = generateText({ model, tools, prompt: 'Do it.', stopWhen: stepCountIs(3), maxRetries: 0 });
const message = await generating.then(
  () => 'It went on.',
  (error) => error.message,
);
await print({ message, runs });
