import type { SqlSessions } from '../database/sql-connection';
import { readAsked, type RowsAsked } from '../records/rows-asked';
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
  /** The names of what depends on rows of a kind. */
  private readonly dependents = new Map<AnyRecordKind, Set<string>>();

  constructor(private readonly connection: Pick<SqlSessions, 'all'>) {}

  isKnown(asked: RowsAsked): boolean {
    return this.known.has(nameOf(asked));
  }

  /** What each of them finds. What is not known yet is read: the database must hold everything that was changed before. */
  async read<Found>(asked: readonly RowsAsked[]): Promise<readonly (readonly Found[])[]> {
    const missing = new Map(asked.map((one) => [nameOf(one), one]));
    for (const name of missing.keys()) if (this.known.has(name)) missing.delete(name);
    const found = await readAsked(this.connection, [...missing.values()]);
    for (const [index, [name, { dependsOn }]] of [...missing].entries()) {
      this.known.set(name, { rows: found[index] ?? [], dependsOn });
      for (const { kind } of dependsOn)
        this.dependents.set(kind, (this.dependents.get(kind) ?? new Set<string>()).add(name));
    }
    return asked.map((one) => (this.known.get(nameOf(one))?.rows ?? []) as readonly Found[]);
  }

  /** A command has changed a row. What it was before is not known here. */
  forget({ codec: { kind }, row, isErased }: ChangedRow): void {
    for (const name of this.dependents.get(kind) ?? []) {
      const isTouched = this.known
        .get(name)
        ?.dependsOn.some((on) => on.kind === kind && (row === null || isErased || hasValues(row, on.values)));
      if (isTouched === true) this.known.delete(name);
    }
  }
}

function hasValues(row: GovernedRow, values: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(values).every(([column, value]) => Reflect.get(row, column) === value);
}

/** The text of the statement is long. */
function nameOf({ name, key }: RowsAsked): string {
  return name + JSON.stringify(key);
}
