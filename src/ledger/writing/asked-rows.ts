import type { SqlSessions } from '../database/sql-connection';
import type { RowsAsked } from '../records/rows-asked';
import type { AnyRecordKind, GovernedRow } from '../record-kind';

interface Known extends Pick<RowsAsked, 'dependsOn'> {
  readonly rows: readonly unknown[];
}

interface ChangedRow {
  readonly codec: { readonly kind: AnyRecordKind };
  /** Null once it is removed. */
  readonly row: GovernedRow | null;
  readonly isErased: boolean;
}

/** What the commands of a batch have asked, until a command changes a row that it depends on. */
export class AskedRows {
  private readonly known = new Map<string, Known>();

  constructor(private readonly connection: Pick<SqlSessions, 'all'>) {}

  get(asked: RowsAsked): readonly unknown[] | undefined {
    return this.known.get(nameOf(asked))?.rows;
  }

  /** Reads what is not known yet: the database must hold everything that was changed before. */
  async read(asked: readonly RowsAsked[]): Promise<void> {
    const missing = new Map(asked.map((one) => [nameOf(one), one]));
    for (const name of missing.keys()) if (this.known.has(name)) missing.delete(name);
    const found = await readAsked(this.connection, [...missing.values()]);
    for (const [index, [name, { dependsOn }]] of [...missing].entries())
      this.known.set(name, { rows: found[index] ?? [], dependsOn });
  }

  /** A command has changed a row. What it was before is not known here. */
  forget({ codec: { kind }, row, isErased }: ChangedRow): void {
    for (const [name, { dependsOn }] of this.known) {
      const isTouched = dependsOn.some(
        (on) => on.kind === kind && (row === null || isErased || hasValues(row, on.values)),
      );
      if (isTouched) this.known.delete(name);
    }
  }
}

/** The rows of each, in this order: one statement for all that ask by the same text. */
export async function readAsked<Row>(
  reader: Pick<SqlSessions, 'all'>,
  asked: readonly RowsAsked[],
): Promise<readonly Row[][]> {
  const found = asked.map((): Row[] => []);
  const read = async (sql: string): Promise<void> => {
    const keys = asked.flatMap((one, place) => (one.sql === sql ? [[place, ...one.key]] : []));
    for (const row of await reader.all<Row & { place: number }>(sql, [JSON.stringify(keys)]))
      found[row.place]?.push(row);
  };
  await Promise.all(Array.from(new Set(asked.map((one) => one.sql)), read));
  return found;
}

function hasValues(row: GovernedRow, values: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(values).every(([column, value]) => Reflect.get(row, column) === value);
}

/** The text of the statement is long. */
function nameOf({ name, key }: RowsAsked): string {
  return name + JSON.stringify(key);
}
