import { createHmac, scrypt, type ScryptOptions, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { SortOrder } from '../../ledger/record-page';

/** Where a list continues, and what the client asked for. */
export interface ListPlace {
  readonly list: string;
  readonly filters: object;
  readonly order: SortOrder;
  readonly total: number;
  /** The agent whose rows alone the total counts; null: all rows. */
  readonly totalOf: string | null;
  /** Sequence after which the next page starts. */
  readonly position: number;
}

const VERSION = 1;
const SEAL_BYTES = 32;
const PURPOSE = 'list cursor';
/**
 * Each derivation takes a tenth of a second and 32 MiB: otherwise the holder of a cursor could try millions of API keys
 * a second.
 */
const COST: ScryptOptions = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };

const derive = promisify<string, string, number, ScryptOptions, Buffer>(scrypt);

type LazyKey = () => Promise<Buffer>;

/** Seals cursors, so that only this service can have made one and its content can be trusted. */
export class CursorCodec {
  private readonly sealingKey: LazyKey;
  private readonly acceptedKeys: readonly LazyKey[];

  /** Seals with a key derived from `secret`; cursors sealed with a previous secret are accepted as well. */
  constructor(secret: string, previousSecrets: readonly string[] = []) {
    this.sealingKey = lazyKey(secret);
    this.acceptedKeys = [this.sealingKey, ...previousSecrets.map(lazyKey)];
  }

  async encode({ list, filters, order, total, totalOf, position }: ListPlace): Promise<string> {
    const content = Buffer.from(JSON.stringify([VERSION, list, order, total, position, filters, totalOf]), 'utf8');
    return Buffer.concat([seal(content, await this.sealingKey()), content]).toString('base64url');
  }

  /** Undefined when the text is not a cursor of this service. */
  async decode(text: string): Promise<ListPlace | undefined> {
    const bytes = Buffer.from(text, 'base64url');
    const content = bytes.subarray(SEAL_BYTES);
    if (bytes.toString('base64url') !== text) return undefined;
    if (!(await this.isSealed(bytes.subarray(0, SEAL_BYTES), content))) return undefined;
    const [, list, order, total, position, filters, totalOf] = JSON.parse(content.toString('utf8')) as CursorContent;
    return { list, filters, order, total, totalOf, position };
  }

  private async isSealed(found: Buffer, content: Buffer): Promise<boolean> {
    if (found.length !== SEAL_BYTES) return false;
    for (const key of this.acceptedKeys) {
      if (timingSafeEqual(found, seal(content, await key()))) return true;
    }
    return false;
  }
}

type CursorContent = [
  version: number,
  list: string,
  order: SortOrder,
  total: number,
  position: number,
  filters: object,
  totalOf: string | null,
];

/** Derived when it is first needed, and kept: many processes never need it. For want of memory it may fail, once. */
function lazyKey(secret: string): LazyKey {
  let key: Promise<Buffer> | undefined;
  const forget = (error: unknown): never => {
    key = undefined;
    throw error;
  };
  return () => (key ??= derive(secret, PURPOSE, SEAL_BYTES, COST).catch(forget));
}

function seal(content: Buffer, key: Buffer): Buffer {
  return createHmac('sha256', key).update(content).digest();
}
