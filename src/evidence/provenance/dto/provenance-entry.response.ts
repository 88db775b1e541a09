import { ApiProperty, getSchemaPath, type SchemaObject } from '@nestjs/swagger';
import { AuditEntryResponse } from '../../audit/dto/audit-entry.response';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import type { JsonObject } from '../../../core/json/json-value';
import type { AnsweredEntry, AnsweredListedEntry } from '../../../ledger/reading/entry-reader';
import { ChainHeadResponse } from './verification.response';

export const EXAMPLE_HASH = '9f2c1e5b7a3d4860b1c2d3e4f5a69788796a5b4c3d2e1f00112233445566778a';

export class ProvenanceEntryResponse {
  @ApiProperty({ type: 'integer', example: 1, description: 'Version of the hashed form.' })
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

  @ApiProperty({ example: EXAMPLE_HASH, description: 'SHA-256 of the canonical JSON of the audit entry.' })
  readonly auditHash!: string;

  @ApiProperty({
    type: String,
    nullable: true,
    example: EXAMPLE_HASH,
    description: 'SHA-256 of the canonical JSON of the subject after the entry; null when it no longer exists.',
  })
  readonly stateHash!: string | null;

  @ApiProperty({ example: '0'.repeat(64), description: '`hash` of the previous entry; 64 zeros for the first.' })
  readonly previousHash!: string;

  @ApiProperty({ example: EXAMPLE_HASH, description: 'SHA-256 of the canonical JSON of all the other members.' })
  readonly hash!: string;

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
      auditHash: entry.auditHash,
      stateHash: entry.stateHash,
      previousHash: entry.previousHash,
      hash: entry.hash,
    };
  }
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

  static of(this: void, entry: AnsweredEntry): ProvenanceProofResponse {
    return {
      ...ProvenanceEntryResponse.from(entry),
      audit: AuditEntryResponse.from(entry),
      state: entry.state,
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
