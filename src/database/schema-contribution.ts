import type { MigrationInterface } from 'typeorm';

export type TableClass = new () => object;
export type MigrationClass = new () => MigrationInterface;

/** What a module adds to the schema. Provided as a value, found by the database module before it opens anything. */
export class SchemaContribution {
  constructor(
    readonly tables: readonly TableClass[],
    readonly migrations: readonly MigrationClass[],
  ) {}
}
