import { createHmac, timingSafeEqual } from 'node:crypto';
import { derivedKey, KEY_BYTES, type LazyKey } from '../../core/values/derived-key';
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
const SEAL_BYTES = KEY_BYTES;
const PURPOSE = 'list cursor';

/** Seals cursors, so that only this service can have made one and its content can be trusted. */
export class CursorCodec {
  private readonly sealingKey: LazyKey;
  private readonly acceptedKeys: readonly LazyKey[];

  /** Seals with a key derived from `secret`; cursors sealed with a previous secret are accepted as well. */
  constructor(secret: string, previousSecrets: readonly string[] = []) {
    this.sealingKey = derivedKey(secret, PURPOSE);
    this.acceptedKeys = [this.sealingKey, ...previousSecrets.map((previous) => derivedKey(previous, PURPOSE))];
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

function seal(content: Buffer, key: Buffer): Buffer {
  return createHmac('sha256', key).update(content).digest();
}
