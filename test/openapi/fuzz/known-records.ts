import type { Parsed } from '../../support/application/send';

/** Bound for the values of a kind; the oldest are dropped. */
const MAX_VALUES = 200;
const ID = /^(ent|clm|agt|dec|pol|exe|stp|aud|prv)_/;

/** In a generated request, a placeholder for a record that is only known when it is sent. */
export class Reference {
  constructor(
    /** The prefix of an id, or `name`, `cursor`, `sequence`. */
    readonly kind: string,
    readonly index: number,
  ) {}

  toString(): string {
    return `${this.kind}#${this.index}`;
  }
}

/** Ids, names, cursors and sequences from the answers so far, for use in later requests. */
export class KnownRecords {
  private readonly valuesByKind = new Map<string, string[]>();
  private readonly entityOfClaim = new Map<string, string>();

  /** Collects the ids, names, cursors and sequences of an answer. */
  note(body: Parsed): void {
    if (typeof body !== 'object' || body === null) return;
    this.keep('cursor', body.nextCursor);
    for (const record of Array.isArray(body.data) ? body.data.slice(0, 5) : [body]) this.noteRecord(record);
  }

  forget(id: string): void {
    for (const values of this.valuesByKind.values()) {
      const index = values.indexOf(id);
      if (index >= 0) values.splice(index, 1);
    }
  }

  /** The text for a reference; one that names nothing while there is no such record. */
  text({ kind, index }: Reference): string {
    const values = this.valuesByKind.get(kind) ?? [];
    return values[index % Math.max(1, values.length)] ?? `${kind}_nothing`;
  }

  entityOf(claimId: string): string | undefined {
    return this.entityOfClaim.get(claimId);
  }

  private noteRecord(record: Parsed): void {
    if (typeof record !== 'object' || record === null) return;
    const [, prefix] = ID.exec(String(record.id)) ?? [];
    if (prefix !== undefined) this.keep(prefix, record.id);
    if (prefix === 'agt') this.keep('name', record.name);
    if (prefix === 'clm') this.entityOfClaim.set(record.id, record.entityId);
    this.keep('sequence', record.sequence);
  }

  private keep(kind: string, value: unknown): void {
    if (typeof value !== 'string' && typeof value !== 'number') return;
    const values = this.valuesByKind.get(kind) ?? [];
    this.valuesByKind.set(kind, values);
    if (values.includes(String(value))) return;
    values.push(String(value));
    if (values.length > MAX_VALUES) values.shift();
  }
}
