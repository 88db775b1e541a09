import { Injectable } from '@nestjs/common';
import { takenAmounts, UsedSums } from '../../governance/policies/limits/recorded-uses';
import { Database } from '../../ledger/database/database';
import type { SqlConnection, SqlValue } from '../../ledger/database/sql-connection';
import { sumName } from '../../ledger/records/sum-key';

/** Rows that one statement reads. */
const CHUNK = 5_000;
/** Sums held in memory at once; of more, each part is added up by itself. */
const MOST_AT_ONCE = 100_000;

const COUNT = `SELECT count(*) AS "count" FROM "ledger_sums"`;
const SELECT =
  `SELECT "sum", "window", "key", "value" FROM "ledger_sums" WHERE ("sum", "window", "key") > ($1, $2, $3) ` +
  `ORDER BY "sum", "window", "key" LIMIT ${CHUNK}`;

/** Checks the sums that the ledger keeps against the entries that they are derived from. */
@Injectable()
export class SumCheck {
  constructor(private readonly database: Database) {}

  /** In chunks, the names of wrong sums. All is read from one snapshot, as sums move with the entries. */
  async *wrong(): AsyncGenerator<string[]> {
    const connection = await this.database.openReader();
    try {
      await connection.run(this.database.dialect.beginReading);
      const [{ count = 0 } = {}] = await connection.all<{ count?: SqlValue }>(COUNT);
      const parts = Math.floor(Number(count) / MOST_AT_ONCE) + 1;
      for (let part = 0; part < parts; part += 1) {
        yield* wrongAmong(connection, (name) => part === partOf(name, parts));
      }
      await connection.run('COMMIT');
    } finally {
      await connection.close();
    }
  }
}

async function* wrongAmong(connection: SqlConnection, isAsked: (name: string) => boolean): AsyncGenerator<string[]> {
  const expected = new UsedSums();
  for await (const taken of takenAmounts(connection)) {
    for (const one of taken) if (isAsked(sumName(one.key))) expected.add(one);
    yield [];
  }
  for await (const kept of keptSums(connection)) {
    yield kept.flatMap(({ value, ...key }) => {
      const name = sumName(key);
      return !isAsked(name) || expected.take(name) === value ? [] : [name];
    });
  }
  yield [...expected.names];
}

interface KeptRow {
  readonly sum: string;
  readonly window: string;
  readonly key: string;
  readonly value: SqlValue;
}

async function* keptSums(connection: SqlConnection): AsyncGenerator<KeptRow[]> {
  for (let after: readonly SqlValue[] = ['', '', ''], isOver = false; !isOver;) {
    const rows = await connection.all<KeptRow>(SELECT, after);
    yield rows;
    const last = rows.at(-1);
    // Bytes, as SQLite allows, come after all texts.
    isOver = rows.length < CHUNK || typeof last?.sum !== 'string';
    after = [last?.sum ?? '', last?.window ?? '', last?.key ?? ''];
  }
}

/** Spreads names evenly. */
function partOf(name: string, parts: number): number {
  let hash = 0;
  for (let index = 0; index < name.length; index += 1) hash = (hash * 31 + name.charCodeAt(index)) | 0;
  return Math.abs(hash) % parts;
}
