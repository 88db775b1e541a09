import { Agent, run, tool as toolOfAgents } from '@openai/agents';
import { governanceMiddleware } from 'agent-governance-frameworks/langchain';
import { governed } from 'agent-governance-frameworks/openai-agents';
import { governedTools } from 'agent-governance-frameworks/vercel-ai';
import { generateText, stepCountIs, tool as toolOfSdk } from 'ai';
import { createAgent, tool as toolOfGraph } from 'langchain';
import { z } from 'zod';
import { callOnce as graphModel } from './models/langchain.mjs';
import { callOnce as agentsModel } from './models/openai-agents.mjs';
import { callOnce as sdkModel } from './models/vercel-ai.mjs';
import { governance, print, refund } from './shop.mjs';

const schema = z.object({ amount: z.number() });
const user = (name) => ({ subject: `user:${name}` });

const ofSdk = governedTools(
  governance,
  Object.fromEntries(
    ['note', 'refund'].map((name) => [name, toolOfSdk({ description: name, inputSchema: schema, execute: refund })]),
  ),
  {
    onBehalfOf: ({ experimental_context: { name } }) => user(name),
    run: ({ experimental_context: { thread } }) => thread,
  },
);
const ofAgents = ['note', 'refund'].map((name) => {
  const made = { name, description: name, parameters: schema, execute: refund };
  const options = { onBehalfOf: ({ context }) => user(context.name), run: ({ context }) => context.thread };
  return toolOfAgents(governed(governance, made, options));
});
const middleware = governanceMiddleware(governance, {
  onBehalfOf: user('ofGraph'),
  run: ({ configurable }) => configurable.thread_id,
});
const ofGraph = ['note', 'refund'].map((name) => toolOfGraph(refund, { name, description: name, schema }));

for (const name of ['note', 'refund']) {
  const input = { amount: 5 };
  await generateText({
    ...{ model: sdkModel(name, input), tools: ofSdk, prompt: 'Do it.', stopWhen: stepCountIs(3), maxRetries: 0 },
    experimental_context: { name: 'ofSdk', thread: 'one' },
  });
  const agent = new Agent({ name: 'seller', tools: ofAgents, model: agentsModel(name, input) });
  await run(agent, 'Do it.', { context: { name: 'ofAgents', thread: 'two' } });
  const graph = createAgent({ model: graphModel(name, input), tools: ofGraph, middleware: [middleware] });
  const messages = [{ role: 'user', content: 'Do it.' }];
  await graph.invoke({ messages }, { configurable: { thread_id: 'three' } });
}
const { data } = await governance.get('/api/v1/executions');
await print({ asked: data.map(({ onBehalfOf: { subject }, run }) => [subject, run]) });
