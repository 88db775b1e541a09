import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import { selectSums } from '../records/statements';
import { type SumKey, sumName } from '../records/sum-key';

/** Reads the sums that the ledger keeps. */
@Injectable()
export class SumReader {
  private readonly select: string;

  /** @internal */
  constructor(private readonly database: Database) {
    this.select = selectSums(database.dialect);
  }

  /** Their values, in this order; undefined for one that is not kept yet. */
  async values(keys: readonly SumKey[]): Promise<readonly (string | undefined)[]> {
    const asked = JSON.stringify(keys.map(({ sum, window, key }) => [sum, window, key]));
    const rows = await this.database.points.all<SumKey & { value: string }>(this.select, [asked]);
    const found = new Map(rows.map((row) => [sumName(row), row.value]));
    return keys.map((key) => found.get(sumName(key)));
  }
}
