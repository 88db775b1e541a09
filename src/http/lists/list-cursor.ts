import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SortOrder } from '../../ledger/record-page';

/** Where a list continues, and what the client asked for. */
export interface ListCursor {
  readonly list: string;
  readonly filters: Readonly<Record<string, unknown>>;
  readonly order: SortOrder;
  readonly total: number;
  /** Sequence after which the next page starts. */
  readonly position: number;
}

const VERSION = 1;
const SEAL_BYTES = 32;
const PURPOSE = 'list cursor';

/** Seals cursors, so that only this service can have made one and its content can be trusted. */
export class CursorCodec {
  private readonly sealingKey: Buffer;
  private readonly acceptedKeys: readonly Buffer[];

  /** Seals with a key derived from `secret`; cursors sealed with a previous secret are accepted as well. */
  constructor(secret: string, previousSecrets: readonly string[] = []) {
    this.sealingKey = derivedKey(secret);
    this.acceptedKeys = [this.sealingKey, ...previousSecrets.map(derivedKey)];
  }

  encode({ list, filters, order, total, position }: ListCursor): string {
    const content = Buffer.from(JSON.stringify([VERSION, list, order, total, position, filters]), 'utf8');
    return Buffer.concat([seal(content, this.sealingKey), content]).toString('base64url');
  }

  /** Undefined when the text is not a cursor of this service. */
  decode(text: string): ListCursor | undefined {
    const bytes = Buffer.from(text, 'base64url');
    const content = bytes.subarray(SEAL_BYTES);
    if (bytes.toString('base64url') !== text || !this.isSealed(bytes.subarray(0, SEAL_BYTES), content)) {
      return undefined;
    }
    const [, list, order, total, position, filters] = JSON.parse(content.toString('utf8')) as CursorContent;
    return { list, filters, order, total, position };
  }

  private isSealed(found: Buffer, content: Buffer): boolean {
    return found.length === SEAL_BYTES && this.acceptedKeys.some((key) => timingSafeEqual(found, seal(content, key)));
  }
}

type CursorContent = [
  version: number,
  list: string,
  order: SortOrder,
  total: number,
  position: number,
  filters: Record<string, unknown>,
];

function derivedKey(secret: string): Buffer {
  return createHmac('sha256', secret).update(PURPOSE).digest();
}

function seal(content: Buffer, key: Buffer): Buffer {
  return createHmac('sha256', key).update(content).digest();
}
