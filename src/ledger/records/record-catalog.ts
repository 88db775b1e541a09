import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { Database } from '../database/database';
import type { Dialect } from '../database/dialect';
import { RecordCodec } from './record-codec';
import type { AnyRecordKind } from '../record-kind';

/** Every kind of record the ledger knows, in order of registration: owners before the kinds that belong to them. */
@Injectable()
export class RecordCatalog {
  readonly all: readonly RecordCodec[];
  readonly dialect: Dialect;
  private readonly codecs = new Map<AnyRecordKind, RecordCodec>();

  constructor(discovery: DiscoveryService, { dialect }: Database) {
    this.dialect = dialect;
    for (const { instance } of discovery.getProviders()) {
      if (instance instanceof LedgerContribution) instance.kinds.forEach((kind) => this.add(kind));
    }
    this.all = [...this.codecs.values()];
  }

  codec(kind: AnyRecordKind): RecordCodec {
    const codec = this.codecs.get(kind);
    if (codec === undefined) {
      throw new Error(`The kind ${kind.subjectType} is unknown: name it in LedgerModule.forFeature({ kinds: [...] }).`);
    }
    return codec;
  }

  private add(kind: AnyRecordKind): void {
    if (this.codecs.has(kind)) return;
    for (const { kind: other } of this.codecs.values()) {
      if (
        other.subjectType === kind.subjectType ||
        other.idPrefix === kind.idPrefix ||
        other.counter === kind.counter
      ) {
        throw new Error(`Two kinds of record share a subject type, id prefix or counter: ${kind.subjectType}.`);
      }
    }
    this.codecs.set(kind, new RecordCodec(kind, this.dialect));
  }
}

/** The kinds of record a module keeps in the ledger. Provided as a value; the catalog finds it at start. */
export class LedgerContribution {
  constructor(readonly kinds: readonly AnyRecordKind[]) {}
}

export function ownerColumn({ owner, subjectType }: AnyRecordKind): string {
  if (owner === undefined) throw new Error(`A ${subjectType} belongs to no other record.`);
  return owner.column;
}
