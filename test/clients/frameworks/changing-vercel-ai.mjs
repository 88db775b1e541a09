import { governedTools } from 'agent-governance-frameworks/vercel-ai';
import { generateText, tool } from 'ai';
import { z } from 'zod';
import { callOnce } from './models/vercel-ai.mjs';
import { governance, refund, runs, print } from './shop.mjs';

// The tool gets a set, of which JSON keeps nothing.
const inputSchema = z.object({ to: z.array(z.string()).transform((names) => new Set(names)) });
const made = tool({ description: 'Note', inputSchema, execute: refund });

/** With `wait` the SDK does not ask whether the call needs an approval. */
async function refusal(options) {
  const tools = governedTools(governance, { note: made }, options);
  const model = callOnce('note', { to: ['mallory'] }, []);
  try {
    const { content } = await generateText({ model, tools, prompt: 'Note it.', maxRetries: 0 });
    return content.find(({ type }) => type === 'tool-error').error.message;
  } catch (error) {
    return error.message;
  }
}

await print({ asked: await refusal({}), called: await refusal({ wait: 1 }), ran: runs.length });
