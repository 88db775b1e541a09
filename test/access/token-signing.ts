import { webcrypto } from 'node:crypto';
import type { TestApp } from '../support/application/create-test-app';
import { type Answer, send } from '../support/application/send';

const { subtle } = webcrypto;
const BITS = { modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' };

export const ISSUER = 'https://login.example.org';
export const AUDIENCE = 'governance';

export type Pair = webcrypto.CryptoKeyPair;
export type Parts = Readonly<Record<string, unknown>>;

/** Signs with another implementation than the one that verifies. */
const SIGNING = {
  RS256: { make: { name: 'RSASSA-PKCS1-v1_5', ...BITS }, sign: { name: 'RSASSA-PKCS1-v1_5' } },
  PS256: { make: { name: 'RSA-PSS', ...BITS }, sign: { name: 'RSA-PSS', saltLength: 32 } },
  ES256: { make: { name: 'ECDSA', namedCurve: 'P-256' }, sign: { name: 'ECDSA', hash: 'SHA-256' } },
  EdDSA: { make: { name: 'Ed25519' }, sign: { name: 'Ed25519' } },
} as const;
export type Algorithm = keyof typeof SIGNING;
export const ALGORITHMS = Object.keys(SIGNING) as Algorithm[];

/** @param unlike what differs from a key that is accepted. */
export async function newPair(algorithm: Algorithm, unlike: Parts = {}): Promise<Pair> {
  return (await subtle.generateKey({ ...SIGNING[algorithm].make, ...unlike }, true, ['sign', 'verify'])) as Pair;
}

/** The public key as an issuer lists it. */
export async function publicKey({ publicKey }: Pair, kid: string): Promise<Parts> {
  const { kty, n, e, crv, x, y } = await subtle.exportKey('jwk', publicKey);
  return { kty, n, e, crv, x, y, kid, use: 'sig' };
}

/** Part of a token. */
export function encoded(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

export function claims(more: Parts = {}): Parts {
  return { iss: ISSUER, aud: AUDIENCE, sub: 'invoice-bot', exp: secondsFromNow(600), ...more };
}

export function secondsFromNow(seconds: number): number {
  return Math.floor(Date.now() / 1000) + seconds;
}

export async function signedToken(
  algorithm: Algorithm,
  { privateKey }: Pair,
  header: Parts,
  payload: Parts = claims(),
): Promise<string> {
  const text = `${encoded({ alg: algorithm, typ: 'JWT', ...header })}.${encoded(payload)}`;
  const signature = await subtle.sign(SIGNING[algorithm].sign, privateKey, Buffer.from(text));
  return `${text}.${Buffer.from(signature).toString('base64url')}`;
}

/** Sends a request with a token; without a path, asks whose it is. */
export function sendAs(
  app: TestApp,
  bearer: string,
  path = '/api/v1/me',
  method = 'GET',
  body?: object,
): Promise<Answer> {
  const headers = { Authorization: `Bearer ${bearer}` };
  return send(app, method, path, { key: null, headers, ...(body && { body }) });
}
