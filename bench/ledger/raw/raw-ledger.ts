import { hash, randomFillSync } from 'node:crypto';
import { leafHash, TreeFrontier, type TreeNode } from '../../../src/ledger/merkle/tree';
import { type RawDatabase, type RawStatement, type Row, ROWS, type Value } from './raw-database';

/**
 * The content of an entry, besides its place in the chain. All texts but `details` and `state` need no escapes in JSON.
 */
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

/** A row and its entry, as one command makes them, with the counters and list items that change with them. */
export interface RawChange {
  readonly values: readonly Value[];
  readonly entry: RawEntry;
  readonly counters: Readonly<Record<string, number>>;
  /** The items of the row's JSON lists, each under the name of its list. */
  readonly items?: readonly string[];
}

/** One command: its statements that read, and the function that turns their rows into a change. */
export interface RawCommand {
  readonly reads: readonly RawStatement[];
  change(ledger: RawLedger, rows: readonly (Row | undefined)[]): RawChange;
}

/** Columns that are not text. */
const INTEGERS: ReadonlySet<string> = new Set([
  'sequence',
  'v',
  'createdSequence',
  'revision',
  'requiredApprovals',
  'level',
  'position',
]);
const ENTRY_COLUMNS =
  'sequence,v,id,auditId,timestamp,action,actorType,actorId,agentId,entityId,subjectType,subjectId,outcome,reason,' +
  'details,requestId,ip,state,detailsSalt,detailsHash,stateSalt,auditHash,stateHash,previousHash,hash';
const INSERT_ENTRIES = insertRows('ledger_entries', ENTRY_COLUMNS);
const INSERT_ITEMS = insertRows('ledger_list_items', 'item,createdSequence,recordId');
const MOVE_COUNTERS =
  `${insertRows('ledger_counters', 'name,value')} WHERE true ` +
  'ON CONFLICT (name) DO UPDATE SET value = ledger_counters.value + excluded.value';
const INSERT_NODES = insertRows('ledger_tree_nodes', 'level,position,hash');
const MOVE_HEAD =
  'UPDATE ledger_head SET sequence = $1, hash = $2, timestamp = $3, "lastUlid" = $4, frontier = $5 WHERE id = 1';

/**
 * Members that most entries leave empty. Copy them after the other members: V8 takes microseconds to add members after
 * a copy.
 */
export const PLAIN_ENTRY = { agentId: null, entityId: null, details: '{}' } as const;

/** Inserts all rows of a JSON array of arrays. */
export function insertRows(table: string, columnList: string): string {
  const columns = columnList.split(',');
  const values = columns.map((name, index) => {
    const value = `value ->> ${index}`;
    return INTEGERS.has(name) || (table === 'ledger_counters' && name === 'value') ? `CAST(${value} AS bigint)` : value;
  });
  return `INSERT INTO ${table} (${columns.map((name) => `"${name}"`).join()}) SELECT ${values.join()} FROM ${ROWS}`;
}

/**
 * The smallest code that writes the rows that the service writes: a batch of commands in one transaction, with its own
 * code for the chain.
 */
export class RawLedger {
  now = '';
  sequence = 0;
  private hash = '';
  private ulids = 0;
  private readonly randomBytes = Buffer.alloc(8_192);
  private usedBytes = this.randomBytes.length;

  constructor(private readonly database: RawDatabase) {}

  /** Returns an id that sorts by creation and is as long as a ULID. */
  newUlid(): string {
    this.ulids += 1;
    return `${Date.parse(this.now).toString().slice(-10)}${this.ulids.toString().padStart(16, '0')}`;
  }

  /** 16 random bytes in base64url. The system's generator fills the salts of 256 entries at once, as in the service. */
  private newSalt(): string {
    if (this.usedBytes === this.randomBytes.length) {
      randomFillSync(this.randomBytes);
      this.usedBytes = 0;
    }
    this.usedBytes += 16;
    return this.randomBytes.subarray(this.usedBytes - 16, this.usedBytes).toString('base64url');
  }

  /** Writes the rows of the commands with one statement; returns the ids of their subjects. */
  async commit(writeRows: string, commands: readonly RawCommand[]): Promise<string[]> {
    const head = await this.database.begin();
    this.sequence = Number(head?.['sequence']);
    this.hash = String(head?.['hash']);
    this.now = new Date().toISOString();
    const rows: (readonly Value[])[] = [];
    const entries: Value[][] = [];
    const items: Value[][] = [];
    const counters = new Map<string, number>();
    const ids: string[] = [];
    const tree = TreeFrontier.parse(String(head?.['frontier'])) ?? TreeFrontier.empty();
    const nodes: TreeNode[] = [];
    const results = await this.database.runTogether(commands.flatMap(({ reads }) => reads));
    let next = 0;
    for (const command of commands) {
      const rowsOfCommand = command.reads.map((_, index) => results[next + index]?.[0]);
      next += command.reads.length;
      this.sequence += 1;
      const change = command.change(this, rowsOfCommand);
      rows.push(change.values);
      entries.push(this.seal(change.entry));
      tree.append(leafHash(this.hash), nodes);
      for (const item of change.items ?? []) items.push([item, this.sequence, change.entry.subjectId]);
      count(counters, change.counters);
      count(counters, countersOf(change.entry));
      ids.push(change.entry.subjectId);
    }
    await this.database.runTogether([
      [writeRows, [JSON.stringify(rows)]],
      ...(items.length > 0 ? [[INSERT_ITEMS, [JSON.stringify(items)]] as const] : []),
      [INSERT_ENTRIES, [JSON.stringify(entries)]],
      [MOVE_COUNTERS, [JSON.stringify([...counters])]],
      ...(nodes.length > 0
        ? [[INSERT_NODES, [JSON.stringify(nodes.map(({ level, position, hash }) => [level, position, hash]))]] as const]
        : []),
      [MOVE_HEAD, [this.sequence, this.hash, this.now, this.newUlid(), tree.text]],
      ['COMMIT', []],
    ]);
    return ids;
  }

  private seal({ action, agentId, entityId, subjectType, subjectId, details, state }: RawEntry): Value[] {
    const { sequence, now, hash: previousHash } = this;
    const ulid = this.newUlid();
    const subject = `"subjectId":"${subjectId}","subjectType":"${subjectType}","timestamp":"${now}"`;
    const [detailsSalt, stateSalt] = [this.newSalt(), this.newSalt()];
    const detailsHash = sha256(
      `{"details":${details},"ip":"127.0.0.1","reason":null,"requestId":"benchmark","salt":"${detailsSalt}"}`,
    );
    const auditHash = sha256(
      `{"action":"${action}","actor":{"id":"env","type":"api_key"},"agentId":${text(agentId)}` +
        `,"detailsHash":"${detailsHash}","entityId":${text(entityId)},"id":"aud_${ulid}","outcome":"success"` +
        `,"sequence":${sequence},${subject}}`,
    );
    const stateHash = sha256(`{"salt":"${stateSalt}","state":${state}}`);
    this.hash = sha256(
      `{"action":"${action}","auditHash":"${auditHash}","auditId":"aud_${ulid}","id":"prv_${ulid}"` +
        `,"previousHash":"${previousHash}","sequence":${sequence},"stateHash":"${stateHash}",${subject},"v":2}`,
    );
    return [
      sequence,
      2,
      `prv_${ulid}`,
      `aud_${ulid}`,
      now,
      action,
      'api_key',
      'env',
      agentId,
      entityId,
      subjectType,
      subjectId,
      'success',
      null,
      details,
      'benchmark',
      '127.0.0.1',
      state,
      detailsSalt,
      detailsHash,
      stateSalt,
      auditHash,
      stateHash,
      previousHash,
      this.hash,
    ];
  }
}

function countersOf({ action, agentId }: RawEntry): Readonly<Record<string, number>> {
  const ofAgent = agentId === null ? {} : { [`ledger_entries:agentId:${agentId}`]: 1 };
  return { [`ledger_entries:action:${action}`]: 1, 'ledger_entries:outcome:success': 1, ...ofAgent };
}

function count(counters: Map<string, number>, steps: Readonly<Record<string, number>>): void {
  for (const [name, step] of Object.entries(steps)) counters.set(name, (counters.get(name) ?? 0) + step);
}

function sha256(input: string): string {
  return hash('sha256', input, 'hex');
}

function text(value: string | null): string {
  return value === null ? 'null' : `"${value}"`;
}
