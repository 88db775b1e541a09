import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';
import { integerColumn, sequenceColumn, textColumn } from '../database/columns';
import { byCreation, governedTable, optionalTexts, primary, texts } from './table-shapes';

/** Schema of all rooms in 0.1.0, the first release. */
export class FirstRelease1763600000000 implements MigrationInterface {
  /** 0.1.0 itself created its tables in twelve migrations, under other names. */
  async up(queryRunner: QueryRunner): Promise<void> {
    if (await queryRunner.hasTable('ledger_entries')) return;
    for (const table of [...ledgerTables(), ...recordTables()]) await queryRunner.createTable(table);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Nothing comes before the schema of 0.1.0: remove the database.'));
  }
}

const ENTRIES_FILTERED_BY = [
  ...['entityId', 'agentId', 'subjectId', 'action', 'outcome', 'timestamp'].map((column) => [column]),
  ['agentId', 'action'],
  ['agentId', 'outcome'],
  ['action', 'outcome'],
];

function ledgerTables(): Table[] {
  return [
    new Table({
      name: 'ledger_entries',
      columns: [
        primary(sequenceColumn('sequence')),
        integerColumn('v'),
        ...texts('id auditId timestamp action actorType actorId subjectType subjectId outcome details'),
        ...texts('auditHash previousHash hash'),
        ...optionalTexts('agentId entityId reason requestId ip state stateHash'),
      ],
      indices: ENTRIES_FILTERED_BY.map((columns) => ({ columnNames: [...columns, 'sequence'] })),
    }),
    new Table({
      name: 'ledger_head',
      columns: [
        primary(integerColumn('id')),
        ...texts('hash timestamp lastUlid'),
        ...['sequence', 'effectSequence'].map(sequenceColumn),
      ],
    }),
    new Table({ name: 'ledger_counters', columns: [primary(textColumn('name')), sequenceColumn('value')] }),
    new Table({
      name: 'ledger_list_items',
      columns: [primary(textColumn('item')), primary(sequenceColumn('createdSequence')), textColumn('recordId')],
      indices: [{ columnNames: ['recordId'] }],
    }),
  ];
}

function recordTables(): Table[] {
  return [
    governedTable(
      'entities',
      [...texts('type name properties createdAt updatedAt'), integerColumn('revision')],
      [byCreation('type')],
    ),
    governedTable('claims', texts('entityId predicate value context createdAt'), [
      byCreation('entityId'),
      byCreation('entityId', 'predicate'),
    ]),
    governedTable(
      'agents',
      [...texts('name description capabilities roles status createdAt updatedAt'), integerColumn('revision')],
      [{ columnNames: ['name'], isUnique: true }, byCreation('status')],
    ),
    governedTable(
      'policies',
      [
        ...texts('name version description effect subjects actions resources resourceTypes status warnings createdAt'),
        integerColumn('priority'),
      ],
      [
        { columnNames: ['name', 'version'], isUnique: true },
        ...['name', 'status', 'effect'].map((column) => byCreation(column)),
      ],
    ),
    governedTable(
      'executions',
      [
        ...texts('agentId agentName action resourceType resourceId parameters outcome policies createdAt'),
        ...optionalTexts('decisionId result failureReason completedAt entityId'),
        { ...textColumn('runBy'), default: `''` },
      ],
      [
        ...['agentId', 'action', 'outcome', 'createdAt'].map((column) => byCreation(column)),
        byCreation('agentId', 'action'),
        byCreation('agentId', 'outcome'),
        byCreation('action', 'outcome'),
      ],
    ),
    governedTable(
      'decisions',
      [
        ...texts('type title description context proposedBy riskLevel status reviews createdAt updatedAt'),
        integerColumn('requiredApprovals'),
        ...optionalTexts('expiresAt resolvedAt'),
      ],
      [
        ...['status', 'riskLevel', 'type', 'proposedBy'].map((column) => byCreation(column)),
        ...['riskLevel', 'type', 'proposedBy'].map((column) => byCreation('status', column)),
        { columnNames: ['status', 'expiresAt'] },
      ],
    ),
  ];
}
