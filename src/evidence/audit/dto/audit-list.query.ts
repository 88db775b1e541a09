import { QueryAgent } from '../../../governance/agents/dto/agent.dto';
import { ListQuery } from '../../../http/lists/list.query';
import { OrderedPeriod, QueryOneOf, QueryText, QueryTimestamp } from '../../../http/validation/query-fields';
import type { EntryOutcome } from '../../../ledger/commands/ledger-transaction';
import { ENTRY_OUTCOMES } from './audit-entry.response';

@OrderedPeriod()
export class AuditListQuery extends ListQuery {
  @QueryText({ max: 500, description: 'Only entries about the entity with this id.' })
  readonly entityId?: string;

  @QueryAgent('Only entries of the agent with this id or name.')
  readonly agentId?: string;

  @QueryText({
    max: 500,
    description: 'Only entries caused by this key, token or part of the service: the `id` of `actor`.',
  })
  readonly actorId?: string;

  @QueryText({ max: 500, description: 'Only entries about the record with this id.' })
  readonly subjectId?: string;

  @QueryText({ max: 500, description: 'Only entries of this action. Any text: modules add actions of their own.' })
  readonly action?: string;

  @QueryOneOf(ENTRY_OUTCOMES, { enumName: 'EntryOutcome', description: 'Only entries with this outcome.' })
  readonly outcome?: EntryOutcome;

  @QueryTimestamp({ description: 'Only entries from this time on: RFC 3339 with a zone, or a date (midnight UTC).' })
  readonly from?: string;

  @QueryTimestamp({ description: 'Only entries up to and including this time.' })
  readonly to?: string;
}

/** Filters of lists of entries. */
export const ENTRY_FILTERS = {
  entityId: ['entityId', 'equals'],
  agentId: ['agentId', 'equals'],
  actorId: ['actorId', 'equals'],
  subjectId: ['subjectId', 'equals'],
  action: ['action', 'equals'],
  outcome: ['outcome', 'equals'],
  from: ['timestamp', 'atLeast'],
  to: ['timestamp', 'atMost'],
  after: ['sequence', 'after'],
} as const;
