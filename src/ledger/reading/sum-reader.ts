import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import { readAsked } from '../records/rows-asked';
import { type KeptSum, sumAsked, type SumKey } from '../records/sum-key';

/** Reads the sums that the ledger keeps. */
@Injectable()
export class SumReader {
  /** @internal */
  constructor(private readonly database: Database) {}

  /** Their values, in this order; undefined for one that is not kept yet. */
  async values(keys: readonly SumKey[]): Promise<readonly (string | undefined)[]> {
    const { points, dialect } = this.database;
    const asked = keys.map((key) => sumAsked(dialect, key));
    return (await readAsked<KeptSum>(points, asked)).map(([kept]) => kept?.value);
  }
}
