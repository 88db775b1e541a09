import { createHash, createPublicKey, verify } from 'node:crypto';

/** The content of a checkpoint whose signature has been verified. */
export interface CheckedCheckpoint {
  readonly origin: string;
  readonly size: number;
  readonly rootHash: string;
}

/** Written from docs/checkpoints.md alone: none of this is the service's own code. */
export function openCheckpoint(note: string, verifierKey: string): CheckedCheckpoint {
  const [name = '', keyId = '', key = ''] =
    verifierKey.split('+').length > 3 ? joined(verifierKey) : verifierKey.split('+');
  const raw = Buffer.from(key, 'base64').subarray(1);
  const [text = '', signatures = ''] = note.split('\n\n');
  const [mark, signer, value = ''] = signatures.trimEnd().split(' ');
  const bytes = Buffer.from(value, 'base64');
  const expectedId = sha256(Buffer.from(`${name}\n`), Buffer.of(1), raw).subarray(0, 4);
  const publicKey = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') },
    format: 'jwk',
  });
  const isSigned = verify(null, Buffer.from(`${text}\n`), publicKey, bytes.subarray(4));
  const isNamed = mark === '\u2014' && signer === name && bytes.subarray(0, 4).equals(expectedId);
  if (!isSigned || !isNamed || expectedId.toString('hex') !== keyId) throw new Error(`A forged checkpoint: ${note}`);
  const [origin = '', size = '', root = ''] = text.split('\n');
  return { origin, size: Number(size), rootHash: Buffer.from(root, 'base64').toString('hex') };
}

/** The base64 of a key may contain plus signs as well. */
function joined(verifierKey: string): string[] {
  const [name = '', keyId = '', ...rest] = verifierKey.split('+');
  return [name, keyId, rest.join('+')];
}

/** MTH(D[n]) of RFC 6962, section 2.1, over the hashes of entries in hex. */
export function rootOf(entries: readonly string[]): string {
  return treeHash(entries).toString('hex');
}

function treeHash(entries: readonly string[]): Buffer {
  const [only] = entries;
  if (only === undefined) return sha256();
  if (entries.length === 1) return sha256(Buffer.of(0), Buffer.from(only, 'hex'));
  const middle = split(entries.length);
  return sha256(Buffer.of(1), treeHash(entries.slice(0, middle)), treeHash(entries.slice(middle)));
}

/** PATH(m, D[n]) of RFC 6962, section 2.1.1, reversed: the root that a leaf hash and a path lead to. */
export function rootByPath(index: number, size: number, leafHash: string, hashes: readonly string[]): string {
  if (size === 1) {
    if (hashes.length > 0) throw new Error('The path is too long.');
    return leafHash;
  }
  const [last, path] = [hashes.at(-1), hashes.slice(0, -1)];
  if (last === undefined) throw new Error('The path is too short.');
  const middle = split(size);
  return index < middle
    ? node(rootByPath(index, middle, leafHash, path), last)
    : node(last, rootByPath(index - middle, size - middle, leafHash, path));
}

/** SUBPROOF(m, D[n], b) of RFC 6962, section 2.1.2, reversed: both roots that a consistency proof leads to. */
export function rootsByProof(from: number, to: number, fromRoot: string, hashes: readonly string[]): [string, string] {
  return subproof(from, to, true, fromRoot, hashes);
}

function subproof(
  from: number,
  to: number,
  isWhole: boolean,
  root: string,
  hashes: readonly string[],
): [string, string] {
  if (from === to) {
    if (hashes.length !== (isWhole ? 0 : 1)) throw new Error('The proof is of another length.');
    return isWhole ? [root, root] : [hashes[0] ?? '', hashes[0] ?? ''];
  }
  const [last, rest] = [hashes.at(-1), hashes.slice(0, -1)];
  if (last === undefined) throw new Error('The proof is too short.');
  const middle = split(to);
  if (from <= middle) {
    const [earlier, later] = subproof(from, middle, isWhole, root, rest);
    return [earlier, node(later, last)];
  }
  const [earlier, later] = subproof(from - middle, to - middle, false, root, rest);
  return [node(last, earlier), node(last, later)];
}

function node(left: string, right: string): string {
  return sha256(Buffer.of(1), Buffer.from(left, 'hex'), Buffer.from(right, 'hex')).toString('hex');
}

export function leafOf(entryHash: string): string {
  return sha256(Buffer.of(0), Buffer.from(entryHash, 'hex')).toString('hex');
}

/** The largest power of two less than n. */
function split(size: number): number {
  return 2 ** (Math.ceil(Math.log2(size)) - 1);
}

function sha256(...parts: Buffer[]): Buffer {
  return createHash('sha256').update(Buffer.concat(parts)).digest();
}
