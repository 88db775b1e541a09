import { canonicalize } from 'json-canonicalize';
import { DECISION } from '../samples';
import { type Row, ROWS } from './raw-database';
import { insertRows, PLAIN_ENTRY, type RawCommand } from './raw-ledger';

export const WRITE_DECISIONS = insertRows(
  'decisions',
  'id,createdSequence,type,title,description,context,proposedBy,riskLevel,status,requiredApprovals,reviews,' +
    'expiresAt,createdAt,updatedAt,resolvedAt',
);

export const WRITE_APPROVALS =
  `UPDATE decisions SET status = value ->> 1, reviews = value ->> 2, "updatedAt" = value ->> 3, ` +
  `"resolvedAt" = value ->> 3 FROM ${ROWS} WHERE decisions.id = value ->> 0`;

const SELECT_DECISION = 'SELECT * FROM decisions WHERE id = $1';
const SELECT_AGENT = 'SELECT * FROM agents WHERE id = $1';

export function propose(proposedBy: string): RawCommand {
  return {
    reads: [[SELECT_AGENT, [proposedBy]]],
    change: (ledger) => {
      const { now, sequence } = ledger;
      const id = `dec_${ledger.newUlid()}`;
      const { type, title, description, riskLevel } = DECISION;
      const context = canonicalize(DECISION.context);
      const times = { expiresAt: null, createdAt: now, updatedAt: now, resolvedAt: null };
      const row = { id, type, title, description, context, proposedBy, riskLevel, ...times };
      const state = stateOf({ ...row, status: 'proposed', reviews: '[]' });
      return {
        values: [
          id,
          sequence,
          type,
          title,
          description,
          context,
          proposedBy,
          riskLevel,
          'proposed',
          1,
          '[]',
          null,
          now,
          now,
          null,
        ],
        counters: { [`decisions:proposedBy:${proposedBy}`]: 1, ...NEW },
        entry: { action: 'decision.proposed', ...about(id, state), agentId: proposedBy, details: PROPOSAL_DETAILS },
      };
    },
  };
}

export function approve(decisionId: string, approverId: string): RawCommand {
  return {
    reads: [
      [SELECT_DECISION, [decisionId]],
      [SELECT_AGENT, [approverId]],
    ],
    change: ({ now }, [decision, approver]) => {
      if (decision?.['status'] !== 'proposed' || approver?.['status'] !== 'active') throw new Error('Cannot approve.');
      const review = { approverId, verdict: 'approve', comment: null, createdAt: now };
      const reviews = canonicalize([...(JSON.parse(String(decision['reviews'])) as object[]), review]);
      const state = stateOf({ ...decision, status: 'approved', reviews, updatedAt: now, resolvedAt: now });
      return {
        values: [decisionId, 'approved', reviews, now],
        counters: { 'decisions:status:proposed': -1, 'decisions:status:approved': 1 },
        entry: {
          action: 'decision.approved',
          ...about(decisionId, state),
          agentId: approverId,
          details: '{"approvals":1,"requiredApprovals":1,"verdict":"approve"}',
        },
      };
    },
  };
}

const NEW = {
  decisions: 1,
  'decisions:status:proposed': 1,
  [`decisions:type:${DECISION.type}`]: 1,
  [`decisions:riskLevel:${DECISION.riskLevel}`]: 1,
};
const PROPOSAL_DETAILS = `{"requiredApprovals":1,"riskLevel":"${DECISION.riskLevel}"}`;

function about(subjectId: string, state: string) {
  return { subjectType: 'decision', subjectId, state, ...PLAIN_ENTRY };
}

function stateOf(row: Row): string {
  const text = (name: string): string => JSON.stringify(row[name]);
  return (
    `{"context":${String(row['context'])},"createdAt":${text('createdAt')},"description":${text('description')}` +
    `,"expiresAt":${text('expiresAt')},"id":${text('id')},"proposedBy":${text('proposedBy')},"requiredApprovals":1` +
    `,"resolvedAt":${text('resolvedAt')},"reviews":${String(row['reviews'])},"riskLevel":${text('riskLevel')}` +
    `,"status":${text('status')},"title":${text('title')},"type":${text('type')},"updatedAt":${text('updatedAt')}}`
  );
}
