import { getSchemaPath, type SchemaObject } from '@nestjs/swagger';
import { ProvenanceProofResponse } from './provenance-entry.response';
import { ChainHeadResponse } from './verification.response';

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
