import type { MigrationInterface, QueryRunner } from 'typeorm';
import { byCreation, governedTable, texts } from '../../ledger/schema/table-shapes';

export class Passkeys1765500000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const columns = texts('agentId name credentialId publicKey rpId createdAt');
    await queryRunner.createTable(
      governedTable('passkeys', columns, [byCreation('agentId'), byCreation('credentialId')]),
    );
  }

  /** A version that knows no passkeys would take unsigned approvals where signed ones are required. */
  down(): Promise<void> {
    return Promise.reject(new Error('There is no way back from passkeys: restore a backup from before.'));
  }
}
