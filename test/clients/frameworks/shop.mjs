import { GovernanceClient } from 'agent-governance-client';
import { setTimeout as sleep } from 'node:timers/promises';

// Shared by the three programs in this folder: an agent's client, a person who approves, and a tool that counts its
// runs.
const { GOVERNANCE_URL: url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer, OPERATOR_KEY: operator } = process.env;
export const governance = new GovernanceClient({ url, key });
const person = new GovernanceClient({ url, key: reviewer });

export const runs = [];
export function refund({ amount }) {
  runs.push(amount);
  return `refunded ${amount}`;
}

/** Approves everything that is pending. Returns the number of decisions. */
export async function approveAll() {
  const { data } = await person.get('/api/v1/decisions', { query: { status: 'proposed' } });
  for (const { id } of data) await person.post('/api/v1/decisions/{id}/approve', { path: { id }, body: {} });
  return data.length;
}

/** The outcomes of the requests, oldest first. */
export async function outcomes() {
  const { data } = await governance.get('/api/v1/executions');
  return data.map(({ action, outcome }) => `${action} ${outcome}`);
}

export async function print(proof) {
  process.stdout.write(`${JSON.stringify({ ...proof, outcomes: await outcomes() })}\n`);
}

/**
 * A client during whose requests the policy POLICY ends: it is in force when an action is looked at, and no longer when
 * the action is asked for. With LOST the answer to that does not arrive.
 */
export const turning = new GovernanceClient({
  ...{ url, key, patience: 0 },
  fetch: async (address, request) => {
    const answer = await fetch(address, request);
    if (String(address).endsWith('/evaluate')) {
      const path = { id: process.env.POLICY };
      await new GovernanceClient({ url, key: operator }).post('/api/v1/policies/{id}/deactivate', { path });
    }
    if (process.env.LOST !== '' && String(address).endsWith('/execute')) {
      await answer.text();
      throw new TypeError('The connection broke.');
    }
    return answer;
  },
});

/** A tool whose result somebody else has reported by the time it ends. */
export async function reportedByAnother({ amount }) {
  const { data } = await governance.get('/api/v1/executions');
  await governance.report(data.at(-1), { result: amount });
  return 'noted';
}

/**
 * Has a framework give a call up while it waits, and the call approved afterwards. Answers how often it has run by the
 * time that somebody else has used the approval.
 */
export async function giveUp(tool, begin) {
  const ending = new globalThis.AbortController();
  const running = begin(ending.signal).catch(() => 'given up');
  while (!(await outcomes()).includes(`${tool} pending_approval`)) await sleep(20);
  ending.abort();
  await approveAll();
  await running;
  await governance.authorize({ action: tool, resourceType: 'tool', resourceId: tool, parameters: { amount: 5 } });
  return runs.length;
}
