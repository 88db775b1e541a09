import type { Configuration } from '../../core/config/configuration';
import type { Dialect } from './dialect';
import type { SqlConnection } from './sql-connection';
import type { MigrationInterface } from 'typeorm';

export type MigrationClass = new () => MigrationInterface;

/**
 * Tables and migrations that a module adds. Provided as a value; the database module finds it before it opens anything.
 */
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
  /** Null if the file does not exist yet. */
  readonly connection: SqlConnection | null;
}

/** Options for opening a database. `check` throws for a database that must not be changed. */
export interface OpeningOptions {
  readonly schema: SchemaContribution;
  readonly check: (database: OpenedDatabase) => Promise<void>;
}

/**
 * A condition that is checked before any migration. Provided as a value; the database module finds it before it opens
 * anything.
 */
export class StartCondition {
  /** @param accepted called if no condition has refused the database, right before it is migrated */
  constructor(
    readonly check: (configuration: Configuration, database: OpenedDatabase) => Promise<void>,
    readonly accepted: (database: OpenedDatabase) => Promise<void> = () => Promise.resolve(),
  ) {}
}
