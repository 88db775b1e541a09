import { Agent, run, RunState, tool } from '@openai/agents';
import { governed } from 'agent-governance-frameworks/openai-agents';
import { z } from 'zod';
import { callOnce } from './models/openai-agents.mjs';
import { approveAll, governance, refund, runs, print } from './shop.mjs';

const seen = [];
const parameters = z.object({ amount: z.number() });
// The default, said: a call that needs an approval stops the framework.
const options = { wait: 0 };
const tools = ['refund', 'wipe', 'fail'].map((name) =>
  tool(governed(governance, { name, description: name, parameters, execute: refund }, options)),
);
const agentOf = (name) => new Agent({ name: 'seller', tools, model: callOnce(name, { amount: 5 }, seen) });

const agent = agentOf('refund');
const first = await run(agent, 'Refund 5.');
const [interruption] = first.interruptions;
const storedState = first.state.toString();
/** Continues from the stored state, in which the framework's own question was answered with yes. */
async function resume() {
  const state = await RunState.fromString(agent, storedState);
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
const denial = seen.at(-1);
await run(agentOf('fail'), 'Fail.');
await print({ unapproved, approved, again, all: runs, denial, failure: seen.at(-1) });
