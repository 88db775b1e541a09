import { type Dialect, quoted, type ColumnDefinition } from '../../database/dialect';
import type { SqlConnection, CommitProof } from '../../database/sql-connection';
import { arraysOfOne, insertRows, oncePerDialect, selectAmong } from '../records/statements';
import type { IdempotencyKey } from './idempotency-key.entity';
import type { KeyedWrite } from '../idempotent-request';
import { DomainError, type ErrorExtras } from '../../errors/domain-error';
import type { AnyErrorCode } from '../../errors/module-error-code';
import { Refusal } from '../ledger-transaction';

const TABLE = 'idempotency_keys';
const COLUMNS: readonly ColumnDefinition[] = ['id', 'contentHash', 'answer', 'createdAt'].map((name) => ({
  name,
  type: 'text',
}));

/** Removes at most `$2` of those made before `$1`, oldest first. */
const DELETE_EXPIRED =
  `DELETE FROM "${TABLE}" WHERE "id" IN ` +
  `(SELECT "id" FROM "${TABLE}" WHERE "createdAt" <= $1 ORDER BY "createdAt" LIMIT $2)`;

/** When the write was answered: tells a commit that took place from one that did not, and whether there is an answer. */
export const SELECT_CREATED_AT = `SELECT "createdAt" AS "found" FROM "${TABLE}" WHERE "id" = $1`;

/** What a write came to: up to a body's size, so it is read for those that are answered by it alone. */
const SELECT_ANSWER = `SELECT "answer" FROM "${TABLE}" WHERE "id" = $1`;

const idempotencyKeySql = oncePerDialect((dialect) => ({
  select: selectAmong(
    dialect,
    TABLE,
    COLUMNS.filter(({ name }) => name !== 'answer').map(({ name }) => quoted(name)),
    'id',
  ),
  write: write(dialect),
}));

/** A key that has expired and is not removed yet begins anew. */
function write(dialect: Dialect): string {
  const changes = COLUMNS.slice(1).map(({ name }) => `"${name}" = excluded."${name}"`);
  // `WHERE true` keeps SQLite from reading ON CONFLICT as the condition of a join.
  return (
    `${insertRows(dialect, TABLE, COLUMNS)} WHERE true ` + `ON CONFLICT ("id") DO UPDATE SET ${changes.join(', ')}`
  );
}

/** Milliseconds for which the answer of a key is kept. */
const KEPT_FOR = 24 * 60 * 60 * 1000;
/** Expired keys that a batch removes, at least: more than it adds, so that they never pile up. */
const REMOVED_AT_ONCE = 1_000;
/** Characters of answers after which a batch takes no further command. */
const FULL = 8 * 1024 * 1024;

/** A key without what it was answered. */
export type KnownKey = Omit<IdempotencyKey, 'answer'>;

/** The answers of the keys that the commands of a batch carry: those of the database below, and those of the batch. */
export class IdempotencyStore {
  private readonly known = new Map<string, KnownKey>();
  private readonly added = new Map<string, IdempotencyKey>();
  private size = 0;

  constructor(
    private readonly connection: SqlConnection,
    private readonly dialect: Dialect,
  ) {}

  /** Whether the answers read and added so far are as much as a batch may hold in memory. */
  get isFull(): boolean {
    return this.size > FULL;
  }

  /** Reads which of the writes are known, in one statement; in none when there are none. */
  async prefetch(writes: readonly KeyedWrite[]): Promise<void> {
    if (writes.length === 0) return;
    const ids = new Set(writes.map(({ id }) => id));
    const { select } = idempotencyKeySql(this.dialect);
    const rows = await this.connection.all<KnownKey>(select, [arraysOfOne(ids)]);
    for (const row of rows) this.known.set(row.id, row);
  }

  /** @param now the ledger's time: a key is free again after 24 hours. */
  find({ id }: KeyedWrite, now: string): KnownKey | undefined {
    const key = this.known.get(id);
    return key === undefined || hasExpired(key.createdAt, now) ? undefined : key;
  }

  /** What a write that was found came to, encoded. */
  async answerOf({ id }: KnownKey): Promise<string> {
    const kept = this.added.get(id) ?? (await this.connection.all<{ answer: string }>(SELECT_ANSWER, [id]))[0];
    const answer = kept?.answer ?? '';
    this.size += answer.length;
    return answer;
  }

  /** From now on the write has this answer, for the batch's later commands too. */
  keep({ id, contentHash }: KeyedWrite, answer: string, createdAt: string): void {
    const key = { id, contentHash, answer, createdAt };
    this.known.set(id, key);
    this.added.set(id, key);
    this.size += answer.length;
  }

  /**
   * Writes what was added, and removes some that have expired: also when nothing was added, where `isTidying`. Answers how
   * to tell that it is on disk; null when nothing was added.
   * @param now time of the last entry. The machine's may be ahead, and go back: then what it removed would be missing.
   */
  async write(now: string, isTidying: boolean): Promise<CommitProof | null> {
    const rows = [...this.added.values()];
    const last = rows.at(-1);
    const removed =
      isTidying || last !== undefined ? this.removeExpired(now, Math.max(REMOVED_AT_ONCE, 2 * rows.length)) : null;
    if (last === undefined) {
      await removed;
      return null;
    }
    const values = rows.map(({ id, contentHash, answer, createdAt }) => [id, contentHash, answer, createdAt]);
    await Promise.all([removed, this.connection.run(idempotencyKeySql(this.dialect).write, [JSON.stringify(values)])]);
    return { sql: SELECT_CREATED_AT, parameters: [last.id], found: last.createdAt };
  }

  private removeExpired(now: string, most: number): Promise<void> {
    return this.connection.run(DELETE_EXPIRED, [expiredAt(now), most]);
  }
}

/** Both ISO 8601. */
export function hasExpired(createdAt: string, now: string): boolean {
  return createdAt <= expiredAt(now);
}

/** ISO 8601: what was made then or earlier has expired. */
function expiredAt(now: string): string {
  return new Date(Date.parse(now) - KEPT_FOR).toISOString();
}

interface StoredRefusal {
  readonly code: AnyErrorCode;
  readonly message: string;
  readonly extras: ErrorExtras;
}

/** What a command came to, as JSON. Without a member: it returned nothing. */
interface StoredAnswer {
  readonly result?: unknown;
  readonly refusal?: StoredRefusal;
}

/** @throws TypeError when the result of a command is nothing that JSON carries. */
export function encodeAnswer(returned: unknown, requestId: string | null): string {
  const answer: StoredAnswer = returned instanceof Refusal ? refused(returned.error, requestId) : { result: returned };
  return JSON.stringify(answer);
}

/** What the command returned, the error of a refusal as a `Refusal`. */
export function decodeAnswer(text: string): unknown {
  const { result, refusal } = JSON.parse(text) as StoredAnswer;
  return refusal === undefined ? result : new Refusal(new DomainError(refusal.code, refusal.message, refusal.extras));
}

/** The body of a refusal names its request, and is to come out the same. */
function refused({ code, message, extras }: DomainError, requestId: string | null): StoredAnswer {
  return { refusal: { code, message, extras: { ...extras, ...(requestId !== null && { requestId }) } } };
}
