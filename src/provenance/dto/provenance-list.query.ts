import { normaliseAgentName } from '../../agents/agent-name';
import { ListQuery } from '../../http/lists/list.query';
import { OrderedPeriod } from '../../http/validation/timestamp';
import { QueryInteger, QueryText, QueryTimestamp } from '../../http/validation/query-fields';

@OrderedPeriod()
export class ProvenanceListQuery extends ListQuery {
  @QueryText({ max: 500, description: 'Only entries about the entity with this id.' })
  readonly entityId?: string;

  @QueryText({
    max: 500,
    description: 'Only entries of the agent with this id or name.',
    normalise: normaliseAgentName,
  })
  readonly agentId?: string;

  @QueryText({ max: 500, description: 'Only entries about the record with this id.' })
  readonly subjectId?: string;

  @QueryText({ max: 500, description: 'Only entries of this action.' })
  readonly action?: string;

  @QueryTimestamp({ description: 'Only entries from this time on: RFC 3339 with a zone, or a date (midnight UTC).' })
  readonly from?: string;

  @QueryTimestamp({ description: 'Only entries up to and including this time.' })
  readonly to?: string;

  @QueryInteger({ min: 0, max: Number.MAX_SAFE_INTEGER, description: 'Only entries with a higher sequence.' })
  readonly after?: number;
}
