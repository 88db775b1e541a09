import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';
import { integerColumn, optionalTextColumn, sequenceColumn, textColumn } from '../database/columns';

export class LedgerSchema1763600000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(ledgerEntries());
    await queryRunner.createTable(ledgerHead());
    await queryRunner.createTable(ledgerCounters());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('ledger_counters');
    await queryRunner.dropTable('ledger_head');
    await queryRunner.dropTable('ledger_entries');
  }
}

function ledgerEntries(): Table {
  return new Table({
    name: 'ledger_entries',
    columns: [
      { ...sequenceColumn('sequence'), isPrimary: true },
      integerColumn('v'),
      textColumn('id'),
      textColumn('auditId'),
      textColumn('timestamp'),
      textColumn('action'),
      textColumn('actorType'),
      textColumn('actorId'),
      optionalTextColumn('agentId'),
      optionalTextColumn('entityId'),
      textColumn('subjectType'),
      textColumn('subjectId'),
      textColumn('outcome'),
      optionalTextColumn('reason'),
      textColumn('details'),
      optionalTextColumn('requestId'),
      optionalTextColumn('ip'),
      optionalTextColumn('state'),
      textColumn('auditHash'),
      optionalTextColumn('stateHash'),
      textColumn('previousHash'),
      textColumn('hash'),
    ],
    indices: ['entityId', 'agentId', 'subjectId', 'action', 'outcome', 'timestamp'].map((column) => ({
      columnNames: [column, 'sequence'],
    })),
  });
}

function ledgerHead(): Table {
  return new Table({
    name: 'ledger_head',
    columns: [
      { ...integerColumn('id'), isPrimary: true },
      sequenceColumn('sequence'),
      textColumn('hash'),
      textColumn('timestamp'),
      textColumn('lastUlid'),
      sequenceColumn('effectSequence'),
    ],
  });
}

function ledgerCounters(): Table {
  return new Table({
    name: 'ledger_counters',
    columns: [{ ...textColumn('name'), isPrimary: true }, sequenceColumn('value')],
  });
}
