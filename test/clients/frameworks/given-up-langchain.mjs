import { governanceMiddleware } from 'agent-governance-frameworks/langchain';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';
import { callOnce } from './models/langchain.mjs';
import { giveUp, governance, refund, reportedByAnother, print } from './shop.mjs';

const schema = z.object({ amount: z.number() });
const toolOf = (name, run) => tool(run, { name, description: name, schema });
const tools = [toolOf('note', reportedByAnother), toolOf('refund', refund)];
const invoke = (name, signal) => {
  const middleware = [governanceMiddleware(governance, { wait: 60 })];
  const agent = createAgent({ model: callOnce(name, { amount: 5 }), tools, middleware });
  return agent.invoke({ messages: [{ role: 'user', content: 'Do it.' }] }, { signal });
};

const { messages } = await invoke('note');
const message = messages.at(-2).text;
const ran = await giveUp('refund', (signal) => invoke('refund', signal));
await print({ message, ran });
