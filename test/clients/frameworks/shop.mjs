import { GovernanceClient } from 'agent-governance-client';

// What the three programs next to this have in common: an agent's client, a person who approves, and a tool that counts its runs.
const { GOVERNANCE_URL: url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer } = process.env;
export const governance = new GovernanceClient({ url, key });
const person = new GovernanceClient({ url, key: reviewer });

export const runs = [];
export function refund({ amount }) {
  runs.push(amount);
  return `refunded ${amount}`;
}

/** Approves what waits. Answers how many decisions that were. */
export async function approveAll() {
  const { data } = await person.get('/api/v1/decisions', { query: { status: 'proposed' } });
  for (const { id } of data) await person.post('/api/v1/decisions/{id}/approve', { path: { id }, body: {} });
  return data.length;
}

/** What came of what was asked, oldest first. */
export async function outcomes() {
  const { data } = await governance.get('/api/v1/executions');
  return data.map(({ action, outcome }) => `${action} ${outcome}`);
}

export async function tell(proof) {
  process.stdout.write(`${JSON.stringify({ ...proof, outcomes: await outcomes() })}\n`);
}
