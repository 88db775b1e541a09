import { Agent, run, tool } from '@openai/agents';
import { governed } from 'agent-governance-frameworks/openai-agents';
import { z } from 'zod';
import { callOnce } from './models/openai-agents.mjs';
import { giveUp, governance, refund, reportedByAnother, print } from './shop.mjs';

const seen = [];
const parameters = z.object({ amount: z.number() });
const toolOf = (name, execute) =>
  tool(governed(governance, { name, description: name, parameters, execute }, { wait: 60 }));
const tools = [toolOf('note', reportedByAnother), toolOf('refund', refund)];
const agentOf = (name) => new Agent({ name: 'seller', tools, model: callOnce(name, { amount: 5 }, seen) });

await run(agentOf('note'), 'Do it.');
const message = seen.at(-1);
const ran = await giveUp('refund', (signal) => run(agentOf('refund'), 'Do it.', { signal }));
await print({ message, ran });
