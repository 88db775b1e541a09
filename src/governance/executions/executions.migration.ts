import { TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm';
import { byCreation, noWayBack } from '../../ledger/schema/table-shapes';
import { IS_EARLIER, IS_TRACED } from './execution.entity';

export class TracedRequests1764900000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of ['executions', 'decisions']) {
      await queryRunner.query(`ALTER TABLE "${table}" ADD COLUMN "traceId" text`);
      await queryRunner.createIndex(table, new TableIndex({ ...byCreation('traceId'), where: IS_TRACED }));
    }
  }

  /** A version that does not know the column could not verify the records that have it. */
  readonly down = noWayBack('traced requests');
}

const COLUMNS: readonly (readonly [table: string, column: string])[] = [
  ...['onBehalfOf', 'principal', 'run'].map((name) => ['executions', `"${name}" text`] as const),
  ...['onBehalfOf', 'run'].map((name) => ['decisions', `"${name}" text`] as const),
  ['api_keys', `"principals" text NOT NULL DEFAULT '[]'`],
  ['policies', `"onBehalfOf" text NOT NULL DEFAULT '[]'`],
];
const INDEXES = [
  ['executions', 'principal'],
  ['executions', 'run'],
  ['decisions', 'run'],
] as const;

/** On whose behalf agents act, and in which run. */
export class Principals1765000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const [table, column] of COLUMNS) await queryRunner.query(`ALTER TABLE "${table}" ADD COLUMN ${column}`);
    for (const [table, column] of INDEXES)
      await queryRunner.createIndex(table, new TableIndex({ ...byCreation(column), where: `"${column}" IS NOT NULL` }));
  }

  /** Executions on behalf of somebody would be held against an approval for nobody. */
  readonly down = noWayBack('principals');
}

/** Agents that are observed for a while, and the executions that were authorised only because of that. */
export class ObservedExecutions1765020000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE "agents" ADD COLUMN "observeUntil" text');
    await queryRunner.query(`ALTER TABLE "executions" ADD COLUMN "observed" text NOT NULL DEFAULT 'false'`);
  }

  /** A version that knows no observation could not verify what was authorised by it. */
  readonly down = noWayBack('observed executions');
}

/** By what conditions find earlier executions of a run. */
export class EarlierExecutions1765300000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE "executions" ADD COLUMN "resourceKey" text');
    const columnNames = ['run', 'agentId', 'action', 'resourceKey'];
    await queryRunner.createIndex('executions', new TableIndex({ columnNames, where: IS_EARLIER }));
  }

  /** A version that does not know these conditions would decide as if they were about parameters. */
  readonly down = noWayBack('conditions on a run');
}
