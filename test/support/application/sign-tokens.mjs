// Generates a key pair for each algorithm, and signs the claims in each argument with each key, using the library
// `jose`.
// Claims without `exp` are valid for ten minutes.
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

const all = process.argv
  .slice(2)
  .map((claims) => ({ exp: Math.floor(Date.now() / 1000) + 600, ...JSON.parse(claims) }));
const keys = [];
const tokens = all.map(() => ({}));
for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA']) {
  const { publicKey, privateKey } = await generateKeyPair(alg);
  const kid = `jose-${alg}`;
  keys.push({ ...(await exportJWK(publicKey)), alg, kid, use: 'sig' });
  for (const [index, claims] of all.entries()) {
    const header = { alg, kid, typ: 'at+jwt' };
    tokens[index][alg] = await new SignJWT(claims).setProtectedHeader(header).setIssuedAt().sign(privateKey);
  }
}
console.log(JSON.stringify({ keys, tokens }));
