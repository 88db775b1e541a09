import { canonicalize } from 'json-canonicalize';
import { AGENT } from '../samples';
import { insertRows, PLAIN_ENTRY, type RawCommand, type RawWriting } from './raw-ledger';

export const WRITE_AGENTS: RawWriting = {
  sql: insertRows(
    'agents',
    'id,createdSequence,name,description,capabilities,roles,status,createdAt,updatedAt,revision',
  ),
  counters: ['agents'],
};

export function createAgent(name: string): RawCommand {
  return {
    reads: [['SELECT * FROM agents WHERE name = ?1', [name]]],
    change: (ledger, [taken]) => {
      if (taken !== undefined) throw new Error('The name is taken.');
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
        entry: { ...PLAIN_ENTRY, action: 'agent.created', subjectType: 'agent', subjectId: id, agentId: id, state },
      };
    },
  };
}
