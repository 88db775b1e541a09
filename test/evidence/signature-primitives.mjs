/**
 * Whether the verifier's primitives for Node.js and those for a page agree on which signatures a key has made.
 *
 *     node signature-primitives.mjs SIGNATURES_OF_EACH_KIND
 */
import { generateKeyPairSync, randomBytes, randomInt, sign } from 'node:crypto';
import * as node from '../../verifier/primitives.mjs';
import * as page from '../../verifier/primitives-browser.mjs';

const KINDS = [
  generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  generateKeyPairSync('ed25519'),
  generateKeyPairSync('rsa', { modulusLength: 2048 }),
];
const answers = { made: 0, damaged: 0, differing: /** @type {string[]} */ ([]) };

for (const { privateKey, publicKey } of KINDS) {
  const key = publicKey.export({ type: 'spki', format: 'der' });
  for (let number = 0; number < Number(process.argv[2]); number += 1) {
    const data = randomBytes(randomInt(1, 200));
    const signature = sign(privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256', data, privateKey);
    const damaged = Buffer.from(signature);
    damaged[randomInt(damaged.length)] ^= 1 << randomInt(8);
    for (const [kind, bytes] of /** @type {const} */ ([
      ['made', signature],
      ['damaged', damaged],
    ])) {
      const results = [await node.hasSignedBytes(key, data, bytes), await page.hasSignedBytes(key, data, bytes)];
      if (results.every((is) => is === (kind === 'made'))) answers[kind] += 1;
      else answers.differing.push(`${kind} ${privateKey.asymmetricKeyType} ${results.join()} ${bytes.toString('hex')}`);
    }
  }
}
process.stdout.write(JSON.stringify(answers));
