import { createHash } from 'node:crypto';

const MODULUS = 1n << 256n;

/** Adds up the hashes of rows. Equal for the same rows in any order, with the same repetitions. */
export class RowDigest {
  private sum = 0n;

  /** @param values values of the row, in the order of its columns */
  add(values: unknown): void {
    const hash = createHash('sha256').update(JSON.stringify(values)).digest('hex');
    this.sum = (this.sum + BigInt(`0x${hash}`)) % MODULUS;
  }

  equals(other: RowDigest): boolean {
    return this.sum === other.sum;
  }
}
