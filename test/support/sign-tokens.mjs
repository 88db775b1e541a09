// Makes a pair of keys for each algorithm and signs the claims of the first argument with them, by the library `jose`. Without
// `exp` among them the tokens are good for ten minutes.
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

const claims = { exp: Math.floor(Date.now() / 1000) + 600, ...JSON.parse(process.argv[2] ?? '{}') };
const keys = [];
const tokens = {};
for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA']) {
  const { publicKey, privateKey } = await generateKeyPair(alg);
  const kid = `jose-${alg}`;
  keys.push({ ...(await exportJWK(publicKey)), alg, kid, use: 'sig' });
  tokens[alg] = await new SignJWT(claims)
    .setProtectedHeader({ alg, kid, typ: 'at+jwt' })
    .setIssuedAt()
    .sign(privateKey);
}
console.log(JSON.stringify({ keys, tokens }));
