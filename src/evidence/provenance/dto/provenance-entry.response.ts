import { ApiProperty, ApiPropertyOptional, getSchemaPath, type SchemaObject } from '@nestjs/swagger';
import { AuditEntryResponse } from '../../audit/dto/audit-entry.response';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import type { JsonObject } from '../../../core/json/json-value';
import type { AnsweredEntry, AnsweredListedEntry } from '../../../ledger/reading/entry-reader';
import { ChainHeadResponse } from './verification.response';

export const EXAMPLE_HASH = '9f2c1e5b7a3d4860b1c2d3e4f5a69788796a5b4c3d2e1f00112233445566778a';
const EXAMPLE_SALT = 'nC1eW3pQZ0m8sVtYx5ufAg';

export class ProvenanceEntryResponse {
  @ApiProperty({ type: 'integer', example: 2, description: 'Version of the sealed form: 1 or 2.' })
  readonly v!: number;

  @ApiProperty({ type: 'integer', minimum: 1, example: 1, description: 'Place in the chain: 1, 2, 3 …' })
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

  @ApiProperty({
    type: String,
    nullable: true,
    example: EXAMPLE_HASH,
    description:
      'SHA-256 of the canonical JSON of `details`, `ip`, `reason` and `requestId` of the audit entry with their salt; null in ' +
      'version 1. Not covered by `hash`: `auditHash` covers it.',
  })
  readonly detailsHash!: string | null;

  @ApiProperty({
    example: EXAMPLE_HASH,
    description:
      'SHA-256 of the canonical JSON of the audit entry: in version 2 with `detailsHash` in place of those four members.',
  })
  readonly auditHash!: string;

  @ApiProperty({
    type: String,
    nullable: true,
    example: EXAMPLE_HASH,
    description:
      'SHA-256 of the canonical JSON of the subject after the entry, in version 2 with its salt; null when it no longer exists.',
  })
  readonly stateHash!: string | null;

  @ApiProperty({ example: '0'.repeat(64), description: '`hash` of the previous entry; 64 zeros for the first.' })
  readonly previousHash!: string;

  @ApiProperty({
    example: EXAMPLE_HASH,
    description: 'SHA-256 of the canonical JSON of the other members, but for `detailsHash` and `erased`.',
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
  @ApiProperty({ type: String, nullable: true, example: EXAMPLE_SALT, description: 'Null once erased.' })
  readonly details!: string | null;

  @ApiProperty({ type: String, nullable: true, example: EXAMPLE_SALT, description: 'Null where `stateHash` is, too.' })
  readonly state!: string | null;
}

/** An entry with everything its hashes were computed from, so that anyone can recompute them. */
export class ProvenanceProofResponse extends ProvenanceEntryResponse {
  @ApiProperty({ type: AuditEntryResponse })
  readonly audit!: AuditEntryResponse;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    description: 'What `stateHash` was computed from.',
  })
  readonly state!: JsonObject | null;

  @ApiProperty({ type: SaltsResponse, nullable: true, description: 'Null in version 1, which has no salts.' })
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

/** The last line of an export: without it, an export is incomplete. */
export class ExportEndResponse {
  /** The end of the chain when the export began; sequence 0 and 64 zeros if there was no entry. */
  readonly end!: ChainHeadResponse;

  static of(this: void, end: ChainHeadResponse): ExportEndResponse {
    return { end };
  }
}

/** A line of an export, for the API document. */
export const EXPORT_LINE: SchemaObject = {
  oneOf: [
    { $ref: getSchemaPath(ProvenanceProofResponse) },
    { type: 'object', required: ['end'], properties: { end: { $ref: getSchemaPath(ChainHeadResponse) } } },
  ],
};
