import { type MigrationInterface, type QueryRunner, TableIndex } from 'typeorm';

/** Executions read per statement. */
const CHUNK = 5_000;

/** The condition as it is at this version: that of the code may change later. */
const IS_RECENT = `"erased" = 'false' AND "outcome" IN ('authorized', 'running', 'executed', 'failed', 'interrupted')`;
const INDEXES = [
  ['agentId', 'action', 'createdSequence'],
  ['agentId', 'resourceKey', 'action', 'createdSequence'],
].map((columnNames) => new TableIndex({ columnNames, where: IS_RECENT }));

/** Sets the key of executions without a run; a key in ASCII has a single form. */
const KEY_ASCII =
  `UPDATE "executions" SET "resourceKey" = "resourceType" || '/' || ` +
  `CASE WHEN substr("resourceId", 1, 1) = '/' THEN substr("resourceId", 2) ELSE "resourceId" END ` +
  `WHERE "resourceKey" IS NULL AND "erased" = 'false' AND octet_length("resourceId") = length("resourceId")`;
const SELECT_OTHERS =
  `SELECT "id", "resourceType", "resourceId" FROM "executions" WHERE "id" > $1 AND "resourceKey" IS NULL ` +
  `AND "erased" = 'false' ORDER BY "id" LIMIT ${CHUNK}`;

/** Adds the indexes by which conditions find the actions of an agent within a time, in any run or none. */
export class RecentExecutions1766000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(KEY_ASCII);
    for (let after: string | undefined = ''; after !== undefined;) {
      const rows = (await queryRunner.query(SELECT_OTHERS, [after])) as Record<
        'id' | 'resourceType' | 'resourceId',
        string
      >[];
      for (const { id, resourceType, resourceId } of rows) {
        const key = `${resourceType}/${resourceId.replace(/^\//, '').normalize('NFC')}`;
        await queryRunner.query('UPDATE "executions" SET "resourceKey" = $1 WHERE "id" = $2', [key, id]);
      }
      after = rows.at(-1)?.id;
    }
    // Indexes are created one after another: on SQLite, `createIndices` reads the indexes of a table while it creates
    // others, and sometimes fails.
    for (const index of INDEXES) await queryRunner.createIndex('executions', index);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const index of INDEXES) await queryRunner.dropIndex('executions', index);
    await queryRunner.query('UPDATE "executions" SET "resourceKey" = NULL WHERE "run" IS NULL');
  }
}
