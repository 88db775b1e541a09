import { Agent, run, tool } from '@openai/agents';
import { governed } from 'agent-governance-frameworks/openai-agents';
import { z } from 'zod';
import { callOnce } from './models/openai-agents.mjs';
import { print, refund, runs, turning } from './shop.mjs';

const parameters = z.object({ amount: z.number() });
const made = { name: 'succeed', description: 'One', parameters, execute: refund };
const tools = [tool(governed(turning, made))];
const agent = new Agent({ name: 'seller', tools, model: callOnce('succeed', { amount: 5 }) });
const message = await run(agent, 'Do it.').then(
  () => 'It went on.',
  (error) => error.message,
);
await print({ message, runs });
