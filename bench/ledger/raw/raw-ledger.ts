import { hash } from 'node:crypto';
import type { RawDatabase, Row, Value } from './raw-database';

/** What an entry says, beside its place in the chain. All texts but `details` and `state` need no escapes in JSON. */
export interface RawEntry {
  readonly action: string;
  readonly agentId: string | null;
  readonly entityId: string | null;
  readonly subjectType: string;
  readonly subjectId: string;
  /** Canonical JSON. */
  readonly details: string;
  /** Canonical JSON. */
  readonly state: string;
}

/** A row and its entry, as one command makes them. */
export interface RawChange {
  readonly values: readonly Value[];
  readonly entry: RawEntry;
}

/** One command: what it reads, and what it makes of that. */
export interface RawCommand {
  readonly reads: readonly (readonly [sql: string, parameters: readonly Value[]])[];
  change(ledger: RawLedger, rows: readonly (Row | undefined)[]): RawChange;
}

/** How the commands of one kind are written: their rows in one statement, and the counters that move by one for each. */
export interface RawWriting {
  readonly sql: string;
  readonly counters: readonly string[];
}

const ENTRY_COLUMNS =
  'sequence,v,id,auditId,timestamp,action,actorType,actorId,agentId,entityId,subjectType,subjectId,outcome,reason,' +
  'details,requestId,ip,state,auditHash,stateHash,previousHash,hash';
const INSERT_ENTRIES = insertRows('ledger_entries', ENTRY_COLUMNS);
const MOVE_COUNTERS =
  `${insertRows('ledger_counters', 'name,value')} WHERE true ` +
  'ON CONFLICT (name) DO UPDATE SET value = ledger_counters.value + excluded.value';
const MOVE_HEAD = 'UPDATE ledger_head SET sequence = ?1, hash = ?2, timestamp = ?3, lastUlid = ?4 WHERE id = 1';

/** Members that most entries leave empty. */
export const PLAIN_ENTRY = { agentId: null, entityId: null, details: '{}' } as const;

/** Inserts all rows of a JSON array of arrays. */
export function insertRows(table: string, columnList: string): string {
  const columns = columnList.split(',');
  const values = columns.map((_, index) => `value ->> ${index}`);
  return `INSERT INTO ${table} (${columns.map((name) => `"${name}"`).join()}) SELECT ${values.join()} FROM json_each(?1)`;
}

/** The least code that writes what the service writes: a batch of commands in one transaction, the chain sealed by hand. */
export class RawLedger {
  now = '';
  sequence = 0;
  private hash = '';
  private ulids = 0;

  constructor(private readonly database: RawDatabase) {}

  /** Sorts by creation, as long as a ULID. */
  newUlid(): string {
    this.ulids += 1;
    return `${Date.parse(this.now).toString().slice(-10)}${this.ulids.toString().padStart(16, '0')}`;
  }

  /** Answers the ids of the subjects. */
  async commit({ sql, counters }: RawWriting, commands: readonly RawCommand[]): Promise<string[]> {
    await this.database.all('BEGIN IMMEDIATE');
    const [head] = await this.database.all('SELECT * FROM ledger_head WHERE id = 1');
    this.sequence = Number(head?.['sequence']);
    this.hash = String(head?.['hash']);
    this.now = new Date().toISOString();
    const rows: (readonly Value[])[] = [];
    const entries: Value[][] = [];
    const ids: string[] = [];
    for (const command of commands) {
      const read: (Row | undefined)[] = [];
      for (const [query, parameters] of command.reads) read.push((await this.database.all(query, parameters))[0]);
      this.sequence += 1;
      const { values, entry } = command.change(this, read);
      rows.push(values);
      entries.push(this.sealed(entry));
      ids.push(entry.subjectId);
    }
    await this.database.all(sql, [JSON.stringify(rows)]);
    await this.database.all(INSERT_ENTRIES, [JSON.stringify(entries)]);
    if (counters.length > 0) {
      await this.database.all(MOVE_COUNTERS, [JSON.stringify(counters.map((name) => [name, commands.length]))]);
    }
    await this.database.all(MOVE_HEAD, [this.sequence, this.hash, this.now, this.newUlid()]);
    await this.database.all('COMMIT');
    return ids;
  }

  private sealed({ action, agentId, entityId, subjectType, subjectId, details, state }: RawEntry): Value[] {
    const { sequence, now, hash: previousHash } = this;
    const ulid = this.newUlid();
    const subject = `"subjectId":"${subjectId}","subjectType":"${subjectType}","timestamp":"${now}"`;
    const auditHash = sha256(
      `{"action":"${action}","actor":{"id":"env","type":"api_key"},"agentId":${text(agentId)},"details":${details}` +
        `,"entityId":${text(entityId)},"id":"aud_${ulid}","ip":"127.0.0.1","outcome":"success","reason":null` +
        `,"requestId":"benchmark","sequence":${sequence},${subject}}`,
    );
    const stateHash = sha256(state);
    this.hash = sha256(
      `{"action":"${action}","auditHash":"${auditHash}","auditId":"aud_${ulid}","id":"prv_${ulid}"` +
        `,"previousHash":"${previousHash}","sequence":${sequence},"stateHash":"${stateHash}",${subject},"v":1}`,
    );
    return [
      ...[sequence, 1, `prv_${ulid}`, `aud_${ulid}`, now, action, 'api_key', 'env', agentId, entityId],
      ...[subjectType, subjectId, 'success', null, details, 'benchmark', '127.0.0.1', state],
      ...[auditHash, stateHash, previousHash, this.hash],
    ];
  }
}

function sha256(input: string): string {
  return hash('sha256', input, 'hex');
}

function text(value: string | null): string {
  return value === null ? 'null' : `"${value}"`;
}
