import type { Parsed } from '../../support/application/send';

/** Enough to draw from; older ones make place. */
const MOST_KEPT = 200;
const ID = /^(ent|clm|agt|dec|pol|exe|aud|prv)_/;

/** Stands in a generated request for a record that is only known when it is sent. */
export class Reference {
  constructor(
    /** Prefix of an id, or `name`, `cursor`, `sequence`. */
    readonly kind: string,
    readonly index: number,
  ) {}

  toString(): string {
    return `${this.kind}#${this.index}`;
  }
}

/** What the answers so far have shown, to be named by later requests. */
export class KnownRecords {
  private readonly kept = new Map<string, string[]>();
  private readonly entityOfClaim = new Map<string, string>();

  /** Takes in the ids, names, cursors and sequences of an answer. */
  note(body: Parsed): void {
    if (typeof body !== 'object' || body === null) return;
    this.keep('cursor', body.nextCursor);
    for (const record of Array.isArray(body.data) ? body.data.slice(0, 5) : [body]) this.noteRecord(record);
  }

  forget(id: string): void {
    for (const values of this.kept.values()) {
      const index = values.indexOf(id);
      if (index >= 0) values.splice(index, 1);
    }
  }

  /** The text a reference stands for; one that names nothing while there is none of the kind. */
  text({ kind, index }: Reference): string {
    const values = this.kept.get(kind) ?? [];
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
    const values = this.kept.get(kind) ?? [];
    this.kept.set(kind, values);
    if (values.includes(String(value))) return;
    values.push(String(value));
    if (values.length > MOST_KEPT) values.shift();
  }
}
