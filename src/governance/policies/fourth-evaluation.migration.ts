import type { MigrationInterface } from 'typeorm';

/**
 * Raises the version of the schema, since the fourth version of the rules of evaluation decides differently: a process
 * of an earlier one does not write beside it. Nothing is stored differently.
 */
export class FourthEvaluation1766900000000 implements MigrationInterface {
  up(): Promise<void> {
    return Promise.resolve();
  }

  down(): Promise<void> {
    return Promise.resolve();
  }
}
