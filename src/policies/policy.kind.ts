import type { RecordKind } from '../ledger/record-kind';
import { POLICY_EFFECTS } from './evaluation/policy-effect';
import { Policy, POLICY_STATUSES } from './policy.entity';

/** How the ledger keeps policies. The hashed members are frozen. */
export const POLICY: RecordKind<Policy> = {
  subjectType: 'policy',
  idPrefix: 'pol',
  table: Policy,
  hashedMembers: [
    'id',
    'name',
    'version',
    'description',
    'effect',
    'subjects',
    'actions',
    'resources',
    'resourceTypes',
    'priority',
    'status',
    'warnings',
    'createdAt',
  ],
  laterMembers: { approval: null, conditions: [] },
  uniqueKeys: [['name', 'version']],
  counter: 'policies',
  countedBy: ['status', 'effect'],
  decisive: {
    effect: POLICY_EFFECTS,
    status: POLICY_STATUSES,
    subjects: 'texts',
    actions: 'texts',
    resources: 'texts',
    resourceTypes: 'texts',
  },
  isKeptInMemory: true,
};
