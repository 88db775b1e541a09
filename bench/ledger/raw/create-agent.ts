import { canonicalize } from 'json-canonicalize';
import { AGENT } from '../samples';
import { insertRows, PLAIN_ENTRY, type RawCommand } from './raw-ledger';

export const WRITE_AGENTS = insertRows(
  'agents',
  'id,createdSequence,name,description,capabilities,roles,status,createdAt,updatedAt,revision',
);
const ITEMS = [
  ...AGENT.capabilities.map((capability) => `agents:capabilities:${capability}`),
  ...AGENT.roles.map((role) => `agents:roles:${role}`),
];
const COUNTERS = { agents: 1, 'agents:status:active': 1, ...Object.fromEntries(ITEMS.map((item) => [item, 1])) };

export function createAgent(name: string): RawCommand {
  return {
    reads: [['SELECT * FROM agents WHERE name = $1', [name]]],
    change: (ledger, [existing]) => {
      if (existing !== undefined) throw new Error('The name is taken.');
      const { now, sequence } = ledger;
      const id = `agt_${ledger.newUlid()}`;
      const capabilities = canonicalize(AGENT.capabilities);
      const roles = canonicalize(AGENT.roles);
      const state =
        `{"capabilities":${capabilities},"createdAt":"${now}","description":${JSON.stringify(AGENT.description)}` +
        `,"id":"${id}","name":${JSON.stringify(name)},"revision":1,"roles":${roles},"status":"active"` +
        `,"updatedAt":"${now}"}`;
      return {
        values: [id, sequence, name, AGENT.description, capabilities, roles, 'active', now, now, 1],
        counters: COUNTERS,
        items: ITEMS,
        entry: { action: 'agent.created', subjectType: 'agent', subjectId: id, state, ...PLAIN_ENTRY, agentId: id },
      };
    },
  };
}
