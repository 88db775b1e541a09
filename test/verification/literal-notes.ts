import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { Proof } from './recompute-chain';

export const ORIGIN = 'example.org/log';

/** RFC 6962, section 2.1, implemented literally. */
function rootOf(hashes: readonly string[]): Buffer {
  const [first, ...others] = hashes;
  if (first === undefined) return digest();
  if (others.length === 0) return digest(Buffer.of(0), Buffer.from(first, 'hex'));
  const half = 2 ** Math.ceil(Math.log2(hashes.length) - 1);
  return digest(Buffer.of(1), rootOf(hashes.slice(0, half)), rootOf(hashes.slice(half)));
}

function digest(...parts: readonly (Buffer | string)[]): Buffer {
  return parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();
}

/** A checkpoint of the entries; without a key it is signed by an unknown one. */
export function noteOf(entries: readonly Proof[], key = generateKeyPairSync('ed25519').privateKey): string {
  const text = `${ORIGIN}\n${entries.length}\n${rootOf(entries.map(({ hash }) => hash)).toString('base64')}\n`;
  const publicKey = verifierKey(ORIGIN, key);
  const keyId = Buffer.from(publicKey.split('+')[1] ?? '', 'hex');
  const signature = Buffer.concat([keyId, sign(null, Buffer.from(text), key)]).toString('base64');
  return `${text}\n\u2014 ${ORIGIN} ${signature}\n`;
}

export function verifierKey(name: string, key: KeyObject): string {
  const { x = '' } = key.export({ format: 'jwk' });
  const typed = Buffer.concat([Buffer.of(1), Buffer.from(x, 'base64url')]);
  return `${name}+${digest(`${name}\n`, typed).toString('hex').slice(0, 8)}+${typed.toString('base64')}`;
}
