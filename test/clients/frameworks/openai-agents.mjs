import { Agent, run, RunState, tool } from '@openai/agents';
import { governed } from 'agent-governance-frameworks/openai-agents';
import { z } from 'zod';
import { callOnce } from './models/openai-agents.mjs';
import { approveAll, governance, refund, runs, tell } from './shop.mjs';

const seen = [];
const parameters = z.object({ amount: z.number() });
const tools = ['refund', 'wipe'].map((name) =>
  tool(governed(governance, { name, description: name, parameters, execute: refund })),
);
const agentOf = (name) => new Agent({ name: 'seller', tools, model: callOnce(name, { amount: 5 }, seen) });

const agent = agentOf('refund');
const first = await run(agent, 'Refund 5.');
const [interruption] = first.interruptions;
const kept = first.state.toString();
/** Goes on from the state that was kept, which says that the framework was told yes. */
async function resume() {
  const state = await RunState.fromString(agent, kept);
  state.approve(state.getInterruptions().find(({ name }) => name === interruption.name));
  await run(agent, state);
}
await resume();
const unapproved = runs.length;
await approveAll();
await resume();
const approved = runs.length;
await resume();
const again = runs.length;
await run(agentOf('wipe'), 'Wipe.');
await tell({ unapproved, approved, again, all: runs, told: seen.at(-1) });
