import { Command, MemorySaver } from '@langchain/langgraph';
import { governanceMiddleware } from 'agent-governance-frameworks/langchain';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';
import { callOnce } from './models/langchain.mjs';
import { approveAll, governance, refund, runs, print } from './shop.mjs';

const schema = z.object({ amount: z.number() });
const tools = ['refund', 'wipe', 'fail'].map((name) => tool(refund, { name, description: name, schema }));
const checkpointer = new MemorySaver();
const agentOf = (name, options) => {
  const middleware = [governanceMiddleware(governance, options)];
  return createAgent({ model: callOnce(name, { amount: 5 }), tools, checkpointer, middleware });
};

const agent = agentOf('refund', { interrupt: true });
const thread = { configurable: { thread_id: 'one' } };
await agent.invoke({ messages: [{ role: 'user', content: 'Refund 5.' }] }, thread);
const { config: paused } = await agent.graph.getState(thread);
// Resumed before anybody approved.
await agent.invoke(new Command({ resume: true }), thread);
const unapproved = runs.length;
await approveAll();
await agent.invoke(new Command({ resume: true }), thread);
const approved = runs.length;
// Resumed a second time from where it was paused.
await agent.invoke(new Command({ resume: true }), paused);
const again = runs.length;
const answerTo = async (name) => {
  const input = { messages: [{ role: 'user', content: 'Do it.' }] };
  const { messages } = await agentOf(name, {}).invoke(input, { configurable: { thread_id: name } });
  return messages.at(-2).text;
};
const denial = await answerTo('wipe');
await print({ unapproved, approved, again, all: runs, denial, failure: await answerTo('fail') });
