import type { SqlSessions, SqlValue } from '../../../ledger/database/sql-connection';
import { type SumKey, sumName } from '../../../ledger/records/sum-key';
import { type Decimal, ZERO, decimalText, isDecimal, parsedDecimal, sumOf } from '../../../core/values/decimal';
import { grantSum } from '../approval/approval-requirement';
import { parsedJson } from '../../../core/json/json-value';
import { type PolicyLimit, type RecordedUse, sumOfLimit } from './limit';
import { isPassedSum, ledgerTime } from './passed-sums';
import { type OnApplicationBootstrap, Injectable, Logger } from '@nestjs/common';
import { SYSTEM_CALLER } from '../../../ledger/kinds/caller';
import { Database } from '../../../ledger/database/database';
import { LedgerService } from '../../../ledger/ledger.service';
import { ledgerSql } from '../../../ledger/writing/ledger-sql';
import { CounterReader } from '../../../ledger/reading/counter-reader';

/** Number of entries that one statement reads. */
const CHUNK_SIZE = 5_000;

const SELECT_LIMITED = `SELECT "id", "name", "limits" FROM "policies" WHERE "limits" <> '[]'`;
/**
 * SQL condition: true if earlier entries of an erased execution still contain its uses, which then count instead of
 * those in the entry of the erasure. Contents are removed some time after that entry, and somebody may have put them
 * back.
 */
const IS_SAID = `EXISTS (SELECT 1 FROM "ledger_entries" AS other WHERE other."subjectId" = entry."subjectId" AND other."sequence" < entry."sequence" AND other."details" LIKE '%"used":[%')`;
/** Selects entries with one action after a sequence, up to another; details are canonical JSON. */
const SELECT_CHUNK =
  `SELECT "sequence", CASE WHEN "details" LIKE '%"used":[%' AND ($1 <> 'execution.erased' OR NOT ${IS_SAID}) THEN "details" END AS "details" ` +
  `FROM "ledger_entries" AS entry ` +
  `WHERE "action" = $1 AND "sequence" > $2 AND "sequence" <= $3 ORDER BY "sequence" LIMIT ${CHUNK_SIZE}`;
/** Selects the uses of grants: each execution that a grant authorised has taken one. */
const SELECT_GRANTED =
  `SELECT "grantId" AS "id", count(*) AS "count" FROM "executions" WHERE "grantId" IS NOT NULL ` +
  `AND "createdSequence" > $1 AND "createdSequence" <= $2 GROUP BY "grantId"`;
/** Actions of entries with uses. After an erasure, its entry has the uses of the execution. */
const ACTIONS = ['execution.authorized', 'execution.resumed', 'execution.erased'];

/** Names of the sums of each policy's limits, by the policy's id. */
type SumsOfPolicies = ReadonlyMap<string, readonly string[]>;

/** An amount that was taken. */
interface TakenAmount {
  readonly key: SumKey;
  readonly amount: Decimal;
}

/** Sums of the uses of limits and grants, from which the ledger derives its stored sums. */
export class UsedSums {
  private readonly sums = new Map<string, { readonly key: SumKey; readonly value: Decimal }>();

  add({ key, amount }: TakenAmount): void {
    const name = sumName(key);
    this.sums.set(name, { key, value: sumOf(this.sums.get(name)?.value ?? ZERO, amount) });
  }

  /** Removes a sum, and returns its text; undefined if nothing was taken. */
  take(name: string): string | undefined {
    const sum = this.sums.get(name);
    this.sums.delete(name);
    return sum && decimalText(sum.value);
  }

  /** Names of the remaining sums. */
  get names(): readonly string[] {
    return [...this.sums.keys()];
  }

  /** The sums as rows of the table. */
  get rows(): string[][] {
    return Array.from(this.sums.values(), ({ key: { sum, window, key }, value }) => [
      sum,
      window,
      key,
      decimalText(value),
    ]);
  }
}

/**
 * Yields, in chunks, the uses of limits in the entries between two sequences, and the uses of grants by executions
 * begun there. Leaves out past sums of equal requests, which may have been removed.
 */
export async function* takenAmounts(
  connection: Pick<SqlSessions, 'all'>,
  { after = 0, upTo = Number.MAX_SAFE_INTEGER } = {},
): AsyncGenerator<readonly TakenAmount[]> {
  const granted = await connection.all<{ id: string; count: SqlValue }>(SELECT_GRANTED, [after, upTo]);
  yield granted.map(({ id, count }) => ({
    key: grantSum(id),
    amount: parsedDecimal(String(count)),
  }));
  const sums = await sumsOfPolicies(connection);
  const now = await ledgerTime(connection);
  if (sums.size === 0) return;
  for (const action of ACTIONS) {
    for (let last = after, isOver = false; !isOver;) {
      const parameters: readonly SqlValue[] = [action, last, upTo];
      const rows = await connection.all<{ sequence: number; details: string | null }>(SELECT_CHUNK, parameters);
      last = rows.at(-1)?.sequence ?? last;
      isOver = rows.length < CHUNK_SIZE;
      const taken = rows.flatMap(({ details }) => (details === null ? [] : takenBy(details, sums)));
      yield taken.filter(({ key }) => !isPassedSum(key, now));
    }
  }
}

async function sumsOfPolicies(connection: Pick<SqlSessions, 'all'>): Promise<SumsOfPolicies> {
  const rows = await connection.all<{ id: string; name: string; limits: string }>(SELECT_LIMITED);
  return new Map(
    rows.map(({ id, name, limits }) => {
      const read = listIn(limits) as readonly PolicyLimit[];
      return [id, read.map((limit) => sumOfLimit(name, limit))];
    }),
  );
}

function takenBy(details: string, sums: SumsOfPolicies): TakenAmount[] {
  return (listIn(details, 'used') as readonly RecordedUse[]).flatMap(({ policyId, limit, window, key, amount }) => {
    const sum = sums.get(policyId)?.[limit];
    if (sum === undefined || typeof amount !== 'string' || !isDecimal(amount)) return [];
    return { key: { sum, window, key: key ?? '' }, amount: parsedDecimal(amount) };
  });
}

/** Returns the objects of a list, or of a list in a member. An altered database may hold anything. */
function listIn(text: string, member?: string): object[] {
  const value = parsedJson(text);
  const list: unknown = member === undefined ? value : (value as Record<string, unknown> | null | undefined)?.[member];
  const items: readonly unknown[] = Array.isArray(list) ? list : [];
  return items.filter((item) => typeof item === 'object' && item !== null);
}

const ANY_SUM = `SELECT "sum" FROM "ledger_sums" LIMIT 1`;
const ANY_LIMITED = `SELECT "id" FROM "policies" WHERE "limits" <> '[]' LIMIT 1`;
const ANY_GRANTED = `SELECT "id" FROM "executions" WHERE "grantId" IS NOT NULL LIMIT 1`;

/** Adds up the used sums of limits and grants, at a start without stored sums. */
@Injectable()
export class MissingSums implements OnApplicationBootstrap {
  private readonly logger = new Logger('Policies');

  constructor(
    private readonly ledger: LedgerService,
    private readonly database: Database,
    private readonly counters: CounterReader,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (!(await this.areMissing())) return;
    const sums = new UsedSums();
    const head = await this.counters.headSequence();
    await this.addUp(sums, { after: 0, upTo: head });
    await this.ledger.write(SYSTEM_CALLER, async (transaction) => {
      // Another process may have written the sums meanwhile; uses that it has authorised since the head was read are
      // added.
      if (!(await this.areMissing())) return;
      await this.addUp(sums, { after: head, upTo: Number.MAX_SAFE_INTEGER });
      const { rows } = sums;
      if (rows.length === 0) return;
      const { keepSums } = ledgerSql(this.database.dialect);
      transaction.writeWithoutEntry({ sql: keepSums, parameters: [JSON.stringify(rows)] });
      transaction.afterCommit(() =>
        this.logger.warn(`${rows.length} sums of what was used were missing, and are added up anew.`),
      );
    });
  }

  private async areMissing(): Promise<boolean> {
    const { points } = this.database;
    if ((await points.all(ANY_SUM)).length > 0) return false;
    return (await points.all(ANY_LIMITED)).length > 0 || (await points.all(ANY_GRANTED)).length > 0;
  }

  private async addUp(sums: UsedSums, { after, upTo }: { after: number; upTo: number }): Promise<void> {
    for await (const taken of takenAmounts(this.database.points, { after, upTo }))
      for (const amount of taken) sums.add(amount);
  }
}
