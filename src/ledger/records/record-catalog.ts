import type { Dialect } from '../database/dialect';
import { RecordCodec } from './record-codec';
import type { AnyRecordKind } from '../kinds/record-kind';

/** Every kind of record the ledger knows, in order of registration: owners before the kinds that belong to them. */
export class RecordCatalog {
  readonly all: readonly RecordCodec[];
  /** The owner of each subject type whose records belong to others. */
  readonly owners: ReadonlyMap<string, string>;
  private readonly codecs = new Map<AnyRecordKind, RecordCodec>();

  constructor(
    kinds: readonly AnyRecordKind[],
    readonly dialect: Dialect,
  ) {
    for (const kind of kinds) this.add(kind);
    this.all = [...this.codecs.values()];
    this.owners = new Map(
      this.all.flatMap(({ kind: { subjectType, owner } }) =>
        owner === undefined ? [] : [[subjectType, owner.kind.subjectType]],
      ),
    );
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

/**
 * True for an entry about a record that belongs to another. @param alias alias of the table, with its dot; empty if it
 * has none
 */
export function isOwnedSql({ owners }: Pick<RecordCatalog, 'owners'>, alias = ''): string {
  const types = Array.from(owners.keys(), (type) => `'${type}'`);
  return `${alias}"subjectType" IN (${types.join(', ') || 'NULL'})`;
}

/** The kinds of record a module keeps in the ledger. Provided as a value; the catalog finds it at start. */
export class LedgerContribution {
  constructor(readonly kinds: readonly AnyRecordKind[]) {}
}

export function ownerColumn({ owner, subjectType }: AnyRecordKind): string {
  if (owner === undefined) throw new Error(`A ${subjectType} belongs to no other record.`);
  return owner.column;
}
