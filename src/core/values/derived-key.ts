import { scrypt, type ScryptOptions } from 'node:crypto';
import { promisify } from 'node:util';

export const KEY_BYTES = 32;
/**
 * Each derivation takes a tenth of a second and 32 MiB: otherwise the holder of what is sealed with the key could try
 * millions of secrets a second.
 */
const COST: ScryptOptions = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };

const derive = promisify<string, string, number, ScryptOptions, Buffer>(scrypt);

export type LazyKey = () => Promise<Buffer>;

/**
 * A key for one purpose, the same in every process with this secret. It is derived on first use, as many processes
 * never need it, and then kept. A derivation that fails, as it may for lack of memory, is tried again at the next use.
 */
export function derivedKey(secret: string, purpose: string): LazyKey {
  let key: Promise<Buffer> | undefined;
  const forget = (error: unknown): never => {
    key = undefined;
    throw error;
  };
  return () => (key ??= derive(secret, purpose, KEY_BYTES, COST).catch(forget));
}
