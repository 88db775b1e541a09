import { Command, interrupt, MemorySaver } from '@langchain/langgraph';
import { Agent, run, tool as toolOfAgents } from '@openai/agents';
import * as langchain from 'agent-governance-frameworks/langchain';
import * as openaiAgents from 'agent-governance-frameworks/openai-agents';
import * as vercelAi from 'agent-governance-frameworks/vercel-ai';
import { generateText, stepCountIs, tool as toolOfSdk } from 'ai';
import { createAgent, tool as toolOfGraph } from 'langchain';
import { z } from 'zod';
import { callOnce as graphModel } from './models/langchain.mjs';
import { callOnce as agentsModel } from './models/openai-agents.mjs';
import { callOnce as sdkModel } from './models/vercel-ai.mjs';
import { governance, print } from './shop.mjs';

const schema = z.object({ amount: z.number() });
const options = { permit: 'bank' };
const name = 'note';
const input = { amount: 5 };
const audiences = [];

/** A tool that notes for which system it could prove what it may do. */
const noting =
  ({ currentPermit }) =>
  async () => {
    await new Promise(setImmediate);
    const [, claims] = currentPermit().split('.');
    audiences.push(JSON.parse(Buffer.from(claims, 'base64url')).aud);
    return 'noted';
  };

const ofSdk = { [name]: toolOfSdk({ description: name, inputSchema: schema, execute: noting(vercelAi) }) };
const tools = vercelAi.governedTools(governance, ofSdk, options);
const stopWhen = stepCountIs(3);
await generateText({ model: sdkModel(name, input), tools, prompt: 'Do it.', stopWhen, maxRetries: 0 });
const made = { name, description: name, parameters: schema, execute: noting(openaiAgents) };
const ofAgents = [toolOfAgents(openaiAgents.governed(governance, made, options))];
await run(new Agent({ name: 'seller', tools: ofAgents, model: agentsModel(name, input) }), 'Do it.');
const ofGraph = [toolOfGraph(noting(langchain), { name, description: name, schema })];
const middleware = [langchain.governanceMiddleware(governance, options)];
const graph = createAgent({ model: graphModel(name, input), tools: ofGraph, middleware });
await graph.invoke({ messages: [{ role: 'user', content: 'Do it.' }] });
const askUser = async () => {
  interrupt('Are you sure?');
  return noting(langchain)();
};
const paused = createAgent({
  model: graphModel(name, input),
  tools: [toolOfGraph(askUser, { name, description: name, schema })],
  middleware,
  checkpointer: new MemorySaver(),
});
const thread = { configurable: { thread_id: 'paused' } };
await paused.invoke({ messages: [{ role: 'user', content: 'Do it.' }] }, thread);
await paused.invoke(new Command({ resume: 'yes' }), thread);
await print({ audiences, outside: langchain.currentPermit() ?? null });
