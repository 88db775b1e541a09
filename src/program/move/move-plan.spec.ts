import { tableName } from '../../ledger/records/record-codec';
import { MOVE_MARK } from '../../ledger/schema/move-mark';
import { planCopies, TABLE_PLANS } from './move-plan';
import { collectServiceParts } from './service-parts';

describe('The plan of a move', () => {
  it('names every table of the service, and no other', async () => {
    const { schema } = await collectServiceParts();
    const tables = schema.tables.map(tableName);
    expect(tables.length).toBeGreaterThan(20);
    expect(Object.keys(TABLE_PLANS).sort()).toEqual([...tables, 'migrations', MOVE_MARK].sort());
  });

  it('checks the table of every kind of record against its entries, and that of no other', async () => {
    const { kinds } = await collectServiceParts();
    const checked = planCopies(Object.keys(TABLE_PLANS)).filter(({ check }) => check === 'records');
    expect(checked.map(({ table }) => table).sort()).toEqual(kinds.map(({ table }) => tableName(table)).sort());
  });

  it('copies what the source has, the head last', () => {
    expect(planCopies(['ledger_head', 'ledger_counters', 'migrations', 'ledger_entries'])).toEqual([
      { table: 'ledger_entries', check: 'chain' },
      { table: 'ledger_head', check: 'rows' },
    ]);
  });

  it('refuses a table of a module', () => {
    expect(() => planCopies(['ledger_entries', 'incidents'])).toThrow(/^The tables incidents belong to no part/);
  });
});
