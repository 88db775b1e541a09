import { ApiProperty, ApiPropertyOptional, getSchemaPath, type SchemaObject } from '@nestjs/swagger';
import { ApiCount, ApiMember, ApiNullableText } from '../../../http/openapi/answer-members';
import { AuditEntryResponse } from '../../audit/dto/audit-entry.response';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import type { JsonObject } from '../../../core/json/json-value';
import type { AnsweredEntry, AnsweredListedEntry } from '../../../ledger/reading/entry-reader';
import { ChainHeadResponse } from './verification.response';

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

  @ApiMember('SHA-256 of the canonical JSON of the other members, but for `detailsHash` and `erased`.', {
    example: EXAMPLE_HASH,
  })
  readonly hash!: string;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    description: 'Sequence of the entry that says that the contents were erased. Absent while they are there.',
  })
  readonly erased?: number;

  static from(this: void, entry: AnsweredListedEntry): ProvenanceEntryResponse {
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

/** The random texts with which an entry commits to what may have to be forgotten. */
export class SaltsResponse {
  @ApiNullableText('Null once erased.', EXAMPLE_SALT)
  readonly details!: string | null;

  @ApiNullableText('Null where `stateHash` is, too.', EXAMPLE_SALT)
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

  static of(this: void, entry: AnsweredEntry): ProvenanceProofResponse {
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
