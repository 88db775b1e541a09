import type { Checkpoint } from '../../api/types.js';
import { bytes, hex } from './hex.js';

/** `unchecked`: this browser cannot check it, for the given reason. */
export type NoteVerdict = { readonly is: 'valid' | 'invalid' } | { readonly is: 'unchecked'; readonly because: string };

const NOT_HERE =
  'browsers check signatures only on pages that come by https or from this machine. Open the console by https';
const NOT_YET = 'this browser does not know Ed25519 signatures. Use a newer one';

/** Whether a checkpoint is signed by its key, and contains what is shown: https://c2sp.org/signed-note. */
export async function checkNote({ checkpoint, origin, size, rootHash, publicKey }: Checkpoint): Promise<NoteVerdict> {
  if (!isSecureContext) return { is: 'unchecked', because: NOT_HERE };
  try {
    const [, name = '', keyId = '', encoded = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(publicKey) ?? [];
    const end = checkpoint.lastIndexOf('\n\n') + 1;
    const text = checkpoint.slice(0, end);
    const line = checkpoint
      .slice(end)
      .split('\n')
      .find((one) => one.startsWith(`— ${name} `) && hex(bytesOf(one)).startsWith(keyId));
    if (line === undefined || text !== `${origin}\n${size}\n${base64(rootHash)}\n`) return { is: 'invalid' };
    // The key is preceded by the number of its algorithm; the signature by four bytes that identify the key.
    const key = await crypto.subtle.importKey('raw', decoded(encoded).slice(1), 'Ed25519', false, ['verify']);
    const signature = bytesOf(line).slice(4);
    const holds = await crypto.subtle.verify('Ed25519', key, signature, new TextEncoder().encode(text));
    return { is: holds ? 'valid' : 'invalid' };
  } catch (error) {
    if (error instanceof DOMException && error.name === 'NotSupportedError')
      return { is: 'unchecked', because: NOT_YET };
    return { is: 'invalid' };
  }
}

/** The part of a signature line after the name. */
function bytesOf(line: string): Uint8Array<ArrayBuffer> {
  return decoded(line.split(' ').at(-1) ?? '');
}

function decoded(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

function base64(hexText: string): string {
  return btoa(String.fromCharCode(...bytes(hexText)));
}
