import { ApiProperty, ApiPropertyOptional, getSchemaPath, type SchemaObject } from '@nestjs/swagger';
import { ApiCount, ApiMember, ApiNullableText } from '../../../http/openapi/response-members';
import { AuditEntryResponse } from '../../audit/dto/audit-entry.response';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { membersNamed, type ShownMember } from '../../../ledger/records/record-text';
import type { JsonObject } from '../../../core/json/json-value';
import type { ParsedEntry, ParsedListedEntry } from '../../../ledger/reading/entry-reader';
import { ChainHeadResponse } from './verification.response';
import { QueryAgent } from '../../../governance/agents/dto/agent.dto';
import { ListQuery } from '../../../http/lists/list.query';
import { WholeRequest } from '../../../http/validation/dto';
import { BooleanField, IntegerField, OptionalText } from '../../../http/validation/fields';
import { OrderedPeriod, QueryInteger, QueryText, QueryTimestamp } from '../../../http/validation/query-fields';
import type { FieldFault } from '../../../core/errors/domain-error';
import { parseCheckpoint } from '../../checkpoints/checkpoint';

export const EXAMPLE_HASH = '9f2c1e5b7a3d4860b1c2d3e4f5a69788796a5b4c3d2e1f00112233445566778a';
const EXAMPLE_SALT = 'nC1eW3pQZ0m8sVtYx5ufAg';

export class ProvenanceEntryResponse {
  @ApiMember('Version of the sealed form: 1 or 2.', { type: 'integer', example: 2 })
  readonly v!: number;

  @ApiCount('Place in the chain: 1, 2, 3 …', { minimum: 1 })
  readonly sequence!: number;

  @ApiProperty({ example: sampleId('prv') })
  readonly id!: string;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly timestamp!: string;

  @ApiProperty({ example: 'entity.created' })
  readonly action!: string;

  @ApiProperty({ example: 'entity' })
  readonly subjectType!: string;

  @ApiProperty({ example: sampleId('ent') })
  readonly subjectId!: string;

  @ApiProperty({ example: sampleId('aud') })
  readonly auditId!: string;

  @ApiNullableText(
    'SHA-256 of the canonical JSON of `details`, `ip`, `reason` and `requestId` of the audit entry with their salt; null in ' +
      'version 1. Not covered by `hash`: `auditHash` covers it.',
    EXAMPLE_HASH,
  )
  readonly detailsHash!: string | null;

  @ApiMember(
    'SHA-256 of the canonical JSON of the audit entry: in version 2 with `detailsHash` in place of those four members.',
    { example: EXAMPLE_HASH },
  )
  readonly auditHash!: string;

  @ApiNullableText(
    'SHA-256 of the canonical JSON of the subject after the entry, in version 2 with its salt; null when it no longer exists.',
    EXAMPLE_HASH,
  )
  readonly stateHash!: string | null;

  @ApiMember('`hash` of the previous entry; 64 zeros for the first.', { example: '0'.repeat(64) })
  readonly previousHash!: string;

  @ApiMember('SHA-256 of the canonical JSON of the other members, except `detailsHash` and `erased`.', {
    example: EXAMPLE_HASH,
  })
  readonly hash!: string;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    description: 'Sequence of the entry that says that the contents were erased. Absent while they are there.',
  })
  readonly erased?: number;

  /** Members that `from` shows, for lists. */
  static readonly members: readonly ShownMember[] = [
    ...membersNamed([
      'v',
      'sequence',
      'id',
      'timestamp',
      'action',
      'subjectType',
      'subjectId',
      'auditId',
      'detailsHash',
    ]),
    ...membersNamed(['auditHash', 'stateHash', 'previousHash', 'hash']),
    { name: 'erased', shows: 'erased', isAbsentIfNull: true },
  ];

  static from(this: void, entry: ParsedListedEntry): ProvenanceEntryResponse {
    return {
      v: entry.v,
      sequence: entry.sequence,
      id: entry.id,
      timestamp: entry.timestamp,
      action: entry.action,
      subjectType: entry.subjectType,
      subjectId: entry.subjectId,
      auditId: entry.auditId,
      detailsHash: entry.detailsHash,
      auditHash: entry.auditHash,
      stateHash: entry.stateHash,
      previousHash: entry.previousHash,
      hash: entry.hash,
      ...(entry.erased !== null && { erased: entry.erased }),
    };
  }
}

/** Random texts with which an entry commits to contents that may have to be erased. */
class SaltsResponse {
  @ApiNullableText('Null once erased.', EXAMPLE_SALT)
  readonly details!: string | null;

  @ApiNullableText('Null if `stateHash` is null.', EXAMPLE_SALT)
  readonly state!: string | null;
}

/** An entry with everything its hashes were computed from, so that anyone can recompute them. */
export class ProvenanceProofResponse extends ProvenanceEntryResponse {
  @ApiProperty({ type: AuditEntryResponse })
  readonly audit!: AuditEntryResponse;

  @ApiMember('What `stateHash` was computed from.', { type: 'object', additionalProperties: true, nullable: true })
  readonly state!: JsonObject | null;

  @ApiMember('Null in version 1, which has no salts.', { type: SaltsResponse, nullable: true })
  readonly salts!: SaltsResponse | null;

  static fromEntry(this: void, entry: ParsedEntry): ProvenanceProofResponse {
    return {
      ...ProvenanceEntryResponse.from(entry),
      audit: AuditEntryResponse.from(entry),
      state: entry.state,
      salts: entry.v === 1 ? null : { details: entry.detailsSalt, state: entry.stateSalt },
    };
  }
}

/** A line of an export, for the API document: an entry, or the last line, without which an export is incomplete. */
export const EXPORT_LINE: SchemaObject = {
  oneOf: [
    { $ref: getSchemaPath(ProvenanceProofResponse) },
    { type: 'object', required: ['end'], properties: { end: { $ref: getSchemaPath(ChainHeadResponse) } } },
  ],
};

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
 * Most characters: room for 16 witnesses, whose largest signatures (ML-DSA-44, with a time) take 3,300 each besides
 * their names.
 */
const MAX_CHECKPOINT_CHARACTERS = 65_536;

/** Requires the whole chain for a checkpoint, whose tree begins at the first entry. */
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
      'The first sequence to check, including its link to the previous entry. Default: the whole chain is checked.',
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
    max: MAX_CHECKPOINT_CHARACTERS,
    rule: checkpointFault,
    // There is no example: the checkpoint of another log would make a sound chain invalid.
    description: 'An earlier checkpoint of this log: the answer says whether the log extends it.',
  })
  readonly checkpoint?: string;
}

function checkpointFault(text: string): string | undefined {
  const checkpoint = parseCheckpoint(text);
  return typeof checkpoint === 'string' ? `${checkpoint} (a signed note with a checkpoint is expected)` : undefined;
}
