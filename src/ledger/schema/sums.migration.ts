import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { textColumn } from '../database/columns';
import { SUMS } from '../records/statements';
import { primary, texts } from './table-shapes';

/** Sums that decisions depend on, kept next to the entries that they are derived from. */
export class Sums1765100000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const columns = [...texts('sum window key').map(primary), textColumn('value')];
    await queryRunner.createTable(new Table({ name: SUMS, columns }));
  }

  /** A version that keeps no sums would allow more than limits let. */
  down(): Promise<void> {
    return Promise.reject(new Error('There is no way back from limits: restore a backup from before.'));
  }
}
