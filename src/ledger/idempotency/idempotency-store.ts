import { type Dialect, quoteName } from '../database/dialect';
import type { CommitProof, SqlConnection, SqlStatement } from '../database/sql-connection';
import { arraysOfOne, firstKeys, oncePerDialect, selectAmong, upsertRows } from '../records/statements';
import { columnsOf } from '../records/record-codec';
import { IdempotencyKey } from '../schema/ledger-tables';
import type { IdempotentWrite } from '../kinds/idempotent-request';
import { conflict, DomainError } from '../../core/errors/domain-error';
import { newSalt } from '../chain/random';
import { Refusal } from '../commands/ledger-transaction';

const TABLE = 'idempotency_keys';

/** Expired keys that one batch removes: more than it can add, so they never pile up. */
const REMOVED_AT_ONCE = 1_000;
const EXPIRED_KEYS = {
  ...{ table: TABLE, key: 'id', condition: '"createdAt" <= $1', order: 'createdAt' },
  longColumns: ['answer', 'subjects'],
};
/** Removes some of the keys that were created up to `$1`, oldest first. */
const DELETE_EXPIRED = `DELETE FROM "${TABLE}" WHERE "id" IN (${firstKeys(EXPIRED_KEYS, REMOVED_AT_ONCE)})`;

/** Selects the creation time of a stored response or marker, whose row proves that the commit took place. */
const SELECT_CREATED_AT = `SELECT "createdAt" AS "actual" FROM "${TABLE}" WHERE "id" = $1`;

/** Selects the result of a write. It can be as large as a body, so it is read only if the write is answered from it. */
const SELECT_ANSWER = `SELECT "answer" FROM "${TABLE}" WHERE "id" = $1`;

const idempotencyKeySql = oncePerDialect((dialect) => ({
  select: selectAmong(dialect, TABLE, ['id', 'contentHash', 'createdAt'].map(quoteName), ['id']),
  // An expired key that has not been removed yet is replaced.
  write: upsertRows(dialect, TABLE, columnsOf(IdempotencyKey), ['id']),
}));

/** Milliseconds for which an answer is kept. */
export const KEPT_FOR = 24 * 60 * 60 * 1000;

/** A key without its answer. */
type StoredKey = Omit<IdempotencyKey, 'answer' | 'subjects'>;

/** The answers for the keys that the commands of a batch carry, from the database and from the batch itself. */
export class IdempotencyStore {
  private readonly keys = new Map<string, StoredKey>();
  /** Responses of the batch itself. */
  readonly added = new Map<string, IdempotencyKey>();
  /** Characters of the stored responses that it holds in memory. */
  size = 0;

  constructor(
    private readonly connection: SqlConnection,
    private readonly dialect: Dialect,
  ) {}

  /** Reads in one statement which of the writes are known. */
  async prefetch(writes: readonly IdempotentWrite[]): Promise<void> {
    const ids = new Set(writes.map(({ id }) => id));
    const { select } = idempotencyKeySql(this.dialect);
    const rows = await this.connection.all<StoredKey>(select, [arraysOfOne(ids)]);
    for (const row of rows) this.keys.set(row.id, row);
  }

  /** @param now ledger time; a key is free again after 24 hours */
  find({ id }: IdempotentWrite, now: string): StoredKey | undefined {
    const key = this.keys.get(id);
    return key === undefined || key.createdAt <= expiredAt(now) ? undefined : key;
  }

  /** Returns the encoded result of a write that `find` has returned. */
  async answerOf({ id }: StoredKey): Promise<string> {
    const stored = this.added.get(id) ?? (await this.connection.all<{ answer: string }>(SELECT_ANSWER, [id]))[0];
    const answer = stored?.answer ?? '';
    this.size += answer.length;
    return answer;
  }

  /**
   * Records the answer of a write, also for later commands of the same batch.
   * @param subjects ids of the records that the answer may show.
   */
  keep(
    { id, contentHash }: Omit<IdempotentWrite, 'onReplay'>,
    answer: string,
    subjects: Iterable<string>,
    createdAt: string,
  ): void {
    const key = { id, contentHash, subjects: arraysOfOne(subjects), answer, createdAt };
    this.keys.set(id, key);
    this.added.set(id, key);
    this.size += answer.length;
  }

  /**
   * Adds a marker row that proves an empty commit.
   * @returns the proof that the commit took place.
   */
  proof(now: string): CommitProof {
    const id = newSalt();
    this.keep({ id, contentHash: '' }, '', [], now);
    return { sql: SELECT_CREATED_AT, parameters: [id], expected: now };
  }

  /**
   * Removes expired answers, and writes the added ones.
   * @param now time of the last entry. The machine's clock may be ahead and be set back: then answers would have been
   * removed too early.
   */
  changes(now: string): SqlStatement[] {
    const removal = { sql: DELETE_EXPIRED, parameters: [expiredAt(now)] };
    if (this.added.size === 0) return [removal];
    const rows = [...this.added.values()];
    const values = rows.map((key) => [key.id, key.contentHash, key.subjects, key.answer, key.createdAt]);
    return [removal, { sql: idempotencyKeySql(this.dialect).write, parameters: [JSON.stringify(values)] }];
  }
}

/** Deletes the stored responses that may show contents of the records with these ids. */
export function forgetAnswers(dialect: Dialect, ids: readonly string[]): SqlStatement {
  const id = dialect.jsonAt(0, { name: 'id', type: 'text' });
  const erased = `SELECT ${id} FROM ${dialect.jsonElements('$1')}`;
  const subjectSql = `SELECT 1 FROM ${dialect.jsonElements('"subjects"')} WHERE (${id}) IN (${erased})`;
  return { sql: `DELETE FROM "${TABLE}" WHERE EXISTS (${subjectSql})`, parameters: [arraysOfOne(ids)] };
}

/** Returns the latest creation time, in ISO 8601, that has expired. */
function expiredAt(now: string): string {
  return new Date(Date.parse(now) - KEPT_FOR).toISOString();
}

/** The refusal of a request whose key was used with other content. */
export function keyReuseConflict(): DomainError {
  return conflict('The Idempotency-Key was used for a request with another body. Give this one a key of its own.');
}

/** Result of a command as JSON. The member is missing if the command returned nothing. */
interface StoredAnswer {
  readonly result?: unknown;
  readonly refusal?: Pick<DomainError, 'code' | 'message' | 'extras'>;
}

/** Ids of the records that the response may show: those recorded, returned, or named in a refusal. */
export function responseSubjects(recorded: Iterable<string>, returned: unknown): Set<string> {
  const subject = returned instanceof Refusal ? returned.error.extras.decisionId : idOf(returned);
  return new Set(subject === undefined ? recorded : [...recorded, subject]);
}

function idOf(returned: unknown): string | undefined {
  const { id } = (returned ?? {}) as { readonly id?: unknown };
  return typeof id === 'string' ? id : undefined;
}

/** @throws TypeError if JSON cannot represent the result of the command */
export function encodeAnswer(returned: unknown, requestId: string | null): string {
  const answer: StoredAnswer = returned instanceof Refusal ? refused(returned.error, requestId) : { result: returned };
  return JSON.stringify(answer);
}

/** Returns the result of the command; for a refusal, its error as a `Refusal`. */
export function decodeAnswer(text: string): unknown {
  const { result, refusal } = JSON.parse(text) as StoredAnswer;
  return refusal === undefined ? result : new Refusal(new DomainError(refusal.code, refusal.message, refusal.extras));
}

/** Encodes a refusal with the id of its request, because a replay must repeat the body, which has the id, unchanged. */
function refused({ code, message, extras }: DomainError, requestId: string | null): StoredAnswer {
  return { refusal: { code, message, extras: { ...extras, ...(requestId !== null && { requestId }) } } };
}
