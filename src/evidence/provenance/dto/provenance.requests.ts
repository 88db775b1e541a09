import { QueryAgent } from '../../../governance/agents/dto/agent.dto';
import { ListQuery } from '../../../http/lists/list.query';
import { WholeRequest } from '../../../http/validation/dto';
import { BooleanField, IntegerField, OptionalText } from '../../../http/validation/fields';
import { OrderedPeriod, QueryInteger, QueryText, QueryTimestamp } from '../../../http/validation/query-fields';
import type { FieldFault } from '../../../core/errors/domain-error';
import { parseCheckpoint } from '../../checkpoints/checkpoint';

@OrderedPeriod()
export class ProvenanceListQuery extends ListQuery {
  @QueryText({ max: 500, description: 'Only entries about the entity with this id.' })
  readonly entityId?: string;

  @QueryAgent('Only entries of the agent with this id or name.')
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

export class ExportQuery {
  @QueryInteger({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    description: 'Only entries with a higher sequence, such as the last one of an export that was cut short.',
  })
  readonly after?: number;
}

/**
 * Characters: room for 16 witnesses, whose largest signatures (ML-DSA-44, with a time) take 3,300 each besides their
 * names.
 */
const LONGEST_CHECKPOINT = 65_536;

/** The tree of a checkpoint begins at the first entry. */
function wholeChainOnly({ from, checkpoint }: Readonly<Record<string, unknown>>): FieldFault[] {
  const isPart = typeof from === 'number' && from > 1;
  if (!isPart || typeof checkpoint !== 'string') return [];
  return [{ field: 'from', message: 'must be left out, or 1, with a checkpoint, which covers the whole chain' }];
}

@WholeRequest(wholeChainOnly)
export class VerifyChainRequest {
  @IntegerField({
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    optional: true,
    description:
      'The first sequence to check, including its link to the previous entry. Without it the whole chain is checked.',
    example: 1,
  })
  readonly from?: number;

  @BooleanField({
    optional: true,
    description: 'Also check every existing record against the state its last entry left, whatever `from` says.',
    example: true,
  })
  readonly state?: boolean;

  @OptionalText({
    max: LONGEST_CHECKPOINT,
    rule: checkpointFault,
    // Without an example: it would be the checkpoint of another log, and make a sound chain invalid.
    description: 'An earlier checkpoint of this log: the answer says whether the log extends it.',
  })
  readonly checkpoint?: string;
}

function checkpointFault(text: string): string | undefined {
  const checkpoint = parseCheckpoint(text);
  return typeof checkpoint === 'string' ? `${checkpoint} (a signed note with a checkpoint is expected)` : undefined;
}
