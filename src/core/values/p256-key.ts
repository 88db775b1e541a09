import { createECDH, createPrivateKey, createPublicKey, hash as digest, type KeyObject } from 'node:crypto';

/** A public key as JSON Web Key sets list it: RFC 7517 and, for its coordinates, RFC 7518. */
export interface ListedKey {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  /** The thumbprint of RFC 7638. */
  readonly kid: string;
  readonly use: 'sig';
  readonly alg: 'ES256';
}

export interface P256Key {
  /** Secret: never show it. */
  readonly privateKey: KeyObject;
  readonly jwk: ListedKey;
}

const COORDINATE_BYTES = 32;
const PUBLIC_KEY = /^(?<x>[A-Za-z0-9_-]{43})\.(?<y>[A-Za-z0-9_-]{43})$/;

/**
 * Makes the key pair; undefined if the 32 bytes are not a private key of this curve, as one in four billion random ones
 * is not.
 */
export function p256Key(secret: Buffer): P256Key | undefined {
  const pair = createECDH('prime256v1');
  try {
    pair.setPrivateKey(secret);
  } catch {
    return undefined;
  }
  // 0x04, then both coordinates.
  const point = pair.getPublicKey().subarray(1);
  const [x, y] = [point.subarray(0, COORDINATE_BYTES), point.subarray(COORDINATE_BYTES)];
  const jwk = listedKey(x.toString('base64url'), y.toString('base64url'));
  const key = { ...jwk, d: secret.toString('base64url') };
  return { privateKey: createPrivateKey({ key, format: 'jwk' }), jwk };
}

/** Reads `<x>.<y>`, the coordinates as a key set has them; undefined if the text is not a point of the curve. */
export function parseP256PublicKey(text: string): ListedKey | undefined {
  const { x, y } = PUBLIC_KEY.exec(text)?.groups ?? {};
  if (x === undefined || y === undefined) return undefined;
  try {
    createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
  } catch {
    return undefined;
  }
  return listedKey(x, y);
}

function listedKey(x: string, y: string): ListedKey {
  // The members in the order that RFC 7638 hashes them in.
  const kid = digest('sha256', JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }), 'base64url');
  return { kty: 'EC', crv: 'P-256', x, y, kid, use: 'sig', alg: 'ES256' };
}
