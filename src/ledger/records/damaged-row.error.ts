/** A stored row holds something the service never writes. Startup ends with exit code 65. */
export class DamagedRowError extends Error {
  constructor(table: string, id: unknown, fault: string) {
    super(
      `The database was altered: the row ${String(id)} of the table ${table} ${fault}. ` +
        'Verify it with npm run verify, and restore it from a backup.',
    );
    this.name = 'DamagedRowError';
  }
}
