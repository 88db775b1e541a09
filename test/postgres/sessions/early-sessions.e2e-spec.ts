import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { PostgresDatabase } from '../../../src/ledger/database/postgres/postgres-database';
import { ProcessLease } from '../../../src/ledger/database/postgres/postgres-lease';
import { SchemaContribution } from '../../../src/ledger/database/start-condition';
import { openDatabaseGate, type TcpGate } from '../../support/application/tcp-gate';
import { describeWithPostgresCluster, postgresCluster, type PostgresCluster } from '../support/postgres-cluster';
import { replayed } from '../support/sessions';

const SELECT_PORT = `SELECT current_setting('port')::integer AS "port"`;

/** All that the sessions themselves need of the schema. */
class ProcessLeases1763900000050 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('CREATE TABLE "process_leases" ("id" text PRIMARY KEY, "since" bigint, "until" bigint)');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('process_leases');
  }
}
const sound = (): Promise<void> => Promise.resolve();
const SCHEMA = new SchemaContribution([ProcessLease], [ProcessLeases1763900000050]);

describeWithPostgresCluster('A session that was opened before the writer had one', () => {
  let primary: PostgresCluster;
  let standby: PostgresCluster;
  let gate: TcpGate;
  let url: string;
  let database: PostgresDatabase;
  let repositories: DataSource;

  beforeAll(async () => {
    primary = await postgresCluster();
    standby = await primary.standby();
    ({ gate, url } = await openDatabaseGate(primary.url));
    database = await open();
    repositories = await new DataSource(database.repositoryOptions()).initialize();
  });
  afterAll(async () => {
    await repositories.destroy();
    await database.close();
    await gate.close();
    [standby, primary].forEach((cluster) => cluster.remove());
  });

  const open = (): Promise<PostgresDatabase> =>
    PostgresDatabase.open(url, { schema: SCHEMA, check: () => Promise.resolve() });

  it('is replaced if the writer is on another server', async () => {
    const ports = async (): Promise<unknown[]> => {
      const kinds = [database.points, database.lists, database.chain, database.sideConnection];
      const read = await Promise.all(kinds.map((kind) => kind.all(SELECT_PORT)));
      return [...read, await repositories.query<unknown[]>(SELECT_PORT)].flat();
    };
    const fiveTimes = (port: number): object[] => Array.from({ length: 5 }, () => ({ port }));
    expect(await ports()).toEqual(fiveTimes(primary.port));

    await replayed(primary, standby);
    standby.promote();
    gate.aim(standby.port);
    const writer = await database.openWriter(sound);
    expect(await ports()).toEqual(fiveTimes(standby.port));
    await writer.close();
  });

  it('keeps the writer from a primary that was replaced, which may still answer', async () => {
    // A restarted service uses the promoted standby.
    const restarted = await open();
    await restarted.points.all(SELECT_PORT);
    gate.aim(primary.port);
    await expect(restarted.openWriter(sound)).rejects.toThrow(/was replaced by the one on timeline 0*2\./);
    gate.aim(standby.port);
    await (await restarted.openWriter(sound)).close();
    await restarted.close();
  });

  it('is not opened on a server that the writer has not yet found to hold what was written', async () => {
    gate.aim(primary.port);
    const moving = await open();
    const writer = await moving.openWriter(sound);
    gate.aim(standby.port);
    const lagging = async (): Promise<void> => {
      await expect(moving.points.all(SELECT_PORT)).rejects.toThrow(/is not the writer's/);
      throw new Error('It lags.');
    };
    await expect(moving.openWriter(lagging)).rejects.toThrow('It lags.');
    await expect(moving.points.all(SELECT_PORT)).rejects.toThrow(/is not the writer's/);
    await writer.close();
    await moving.close();
  });
});
