import type { Configuration } from '../../core/config/configuration';
import type { Dialect } from './dialect';
import type { SqlConnection } from './sql-connection';
import type { MigrationInterface } from 'typeorm';

export type MigrationClass = new () => MigrationInterface;

/** What a module adds to the schema. Provided as a value; the database module finds it before it opens anything. */
export class SchemaContribution {
  constructor(
    readonly tables: readonly (new () => object)[],
    readonly migrations: readonly MigrationClass[],
  ) {}
}

/** A database as found at start: nothing has been migrated or written yet. */
export interface OpenedDatabase {
  readonly location: string;
  readonly dialect: Dialect;
  /** Null if there is no file yet. */
  readonly connection: SqlConnection | null;
}

/** What is needed to open a database. `check` throws for one that must stay as it was found. */
export interface OpeningOptions {
  readonly schema: SchemaContribution;
  readonly check: (database: OpenedDatabase) => Promise<void>;
}

/** Checked before any migration. Provided as a value; the database module finds it before it opens anything. */
export class StartCondition {
  /** @param accepted called when no condition has refused the database, right before it is migrated. */
  constructor(
    readonly check: (configuration: Configuration, database: OpenedDatabase) => Promise<void>,
    readonly accepted: (database: OpenedDatabase) => Promise<void> = () => Promise.resolve(),
  ) {}
}
