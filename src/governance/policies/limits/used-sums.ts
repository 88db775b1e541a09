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

/** Entries that one statement reads. */
const CHUNK = 5_000;

const SELECT_LIMITED = `SELECT "id", "name", "limits" FROM "policies" WHERE "limits" <> '[]'`;
/**
 * Uses in the entry of an erasure count once, and only if the entries before it no longer have them: those are emptied
 * after it, and somebody may have put their contents back.
 */
const IS_SAID = `EXISTS (SELECT 1 FROM "ledger_entries" AS other WHERE other."subjectId" = entry."subjectId" AND other."sequence" < entry."sequence" AND other."details" LIKE '%"used":[%')`;
/** Of the entries with one action after a sequence and up to another; details are canonical JSON. */
const SELECT_CHUNK =
  `SELECT "sequence", CASE WHEN "details" LIKE '%"used":[%' AND ($1 <> 'execution.erased' OR NOT ${IS_SAID}) THEN "details" END AS "details" ` +
  `FROM "ledger_entries" AS entry ` +
  `WHERE "action" = $1 AND "sequence" > $2 AND "sequence" <= $3 ORDER BY "sequence" LIMIT ${CHUNK}`;
/** Each execution that a grant authorised has taken one of its uses. */
const SELECT_GRANTED =
  `SELECT "grantId" AS "id", count(*) AS "count" FROM "executions" WHERE "grantId" IS NOT NULL ` +
  `AND "createdSequence" > $1 AND "createdSequence" <= $2 GROUP BY "grantId"`;
/** The entry of its erasure says what an erased execution has taken. */
const ACTIONS = ['execution.authorized', 'execution.resumed', 'execution.erased'];

/** By the id of a policy, the name of the sum of each of its limits. */
type SumsOfPolicies = ReadonlyMap<string, readonly string[]>;

/** An amount that was taken. */
interface TakenAmount {
  readonly key: SumKey;
  readonly amount: Decimal;
}

/** The sums of what was taken from limits and grants: what the ledger keeps is derived from these. */
export class UsedSums {
  private readonly sums = new Map<string, { readonly key: SumKey; readonly value: Decimal }>();

  add({ key, amount }: TakenAmount): void {
    const name = sumName(key);
    this.sums.set(name, { key, value: sumOf(this.sums.get(name)?.value ?? ZERO, amount) });
  }

  /** Takes out a sum, and returns its text; undefined if nothing was taken. */
  take(name: string): string | undefined {
    const sum = this.sums.get(name);
    this.sums.delete(name);
    return sum && decimalText(sum.value);
  }

  /** Names of those that are left. */
  get names(): readonly string[] {
    return [...this.sums.keys()];
  }

  /** As rows of the table. */
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
 * In chunks, what entries between two sequences have taken from limits, and executions begun there from grants. Sums of equal
 * requests whose window is over, which may have been removed, are left out.
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
      isOver = rows.length < CHUNK;
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

/** The objects of a list, or of one in a member. Somebody may have altered the database, so it may hold anything. */
function listIn(text: string, member?: string): object[] {
  const value = parsedJson(text);
  const list: unknown = member === undefined ? value : (value as Record<string, unknown> | null | undefined)?.[member];
  const items: readonly unknown[] = Array.isArray(list) ? list : [];
  return items.filter((item) => typeof item === 'object' && item !== null);
}

const ANY_SUM = `SELECT "sum" FROM "ledger_sums" LIMIT 1`;
const ANY_LIMITED = `SELECT "id" FROM "policies" WHERE "limits" <> '[]' LIMIT 1`;
const ANY_GRANTED = `SELECT "id" FROM "executions" WHERE "grantId" IS NOT NULL LIMIT 1`;

/** Adds up what was used of limits and grants, at a start that misses the sums. */
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
      // Another process may have written them meanwhile; what it has authorised since the head was read is added.
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
      for (const one of taken) sums.add(one);
  }
}
