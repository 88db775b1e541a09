import { canonicalize } from 'json-canonicalize';
import { EXECUTION } from '../samples';
import { insertRows, PLAIN_ENTRY, type RawCommand } from './raw-ledger';

export const WRITE_EXECUTIONS = insertRows(
  'executions',
  'id,createdSequence,agentId,agentName,action,resourceType,resourceId,parameters,outcome,policies,decisionId,' +
    'result,failureReason,createdAt,completedAt,entityId',
);
const COUNTERS = {
  executions: 1,
  [`executions:action:${EXECUTION.action}`]: 1,
  'executions:outcome:authorized': 1,
};

/** The deciding policy, which this code knows in advance. */
const DECIDING = { id: 'pol_01KAGQ5W3SYJ8V6D2N4B7XZ9RM', name: 'billing-may-invoice', version: '1.0' };

export function execute(agentId: string): RawCommand {
  const { action, resourceType, resourceId } = EXECUTION;
  return {
    reads: [['SELECT * FROM agents WHERE id = $1', [agentId]]],
    change: (ledger, [agent]) => {
      const capabilities = JSON.parse(String(agent?.['capabilities'])) as string[];
      if (agent?.['status'] !== 'active' || !capabilities.includes(action)) throw new Error('Cannot execute.');
      const { now, sequence } = ledger;
      const id = `exe_${ledger.newUlid()}`;
      const name = String(agent['name']);
      const parameters = canonicalize(EXECUTION.parameters);
      const policies = canonicalize([{ ...DECIDING, effect: 'allow' }]);
      const resource = `"resourceId":${JSON.stringify(resourceId)},"resourceType":"${resourceType}"`;
      const state =
        `{"action":"${action}","agentId":"${agentId}","agentName":${JSON.stringify(name)},"completedAt":null` +
        `,"createdAt":"${now}","decisionId":null,"failureReason":null,"id":"${id}","outcome":"authorized"` +
        `,"parameters":${parameters},"policies":${policies},${resource},"result":null}`;
      const details = `{"action":"${action}","policies":${canonicalize([DECIDING])},${resource}}`;
      return {
        values: [
          id,
          sequence,
          agentId,
          name,
          action,
          resourceType,
          resourceId,
          parameters,
          'authorized',
          policies,
          null,
          null,
          null,
          now,
          null,
          null,
        ],
        counters: { [`executions:agentId:${agentId}`]: 1, ...COUNTERS },
        entry: {
          action: 'execution.authorized',
          subjectType: 'execution',
          subjectId: id,
          state,
          ...PLAIN_ENTRY,
          agentId,
          details,
        },
      };
    },
  };
}
