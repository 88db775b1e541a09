import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { createTestApp } from '../support/application/create-test-app';
import { AUDIENCE, claims, encoded, ISSUER, newPair, publicKey, sendAs, signedToken } from './token-signing';

/** Tests the lines of the log about refused tokens. */
describe('The log', () => {
  it('says once a minute why tokens were refused, for each issuer and for those of none', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'token-lines-'));
    const pair = await newPair('ES256');
    writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: [await publicKey(pair, 'one')] }));
    const issuer = { audience: AUDIENCE, jwks: 'keys.json', agents: ['bot'], scopes: ['read'] };
    const issuers = [`${ISSUER}/a`, `${ISSUER}/b`].map((name) => ({ ...issuer, issuer: name }));
    writeFileSync(join(folder, 'issuers.json'), JSON.stringify(issuers));
    const app = await createTestApp({ environment: { TOKEN_ISSUERS: join(folder, 'issuers.json') } });
    const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    const token = (header: object, iss: string): Promise<string> =>
      signedToken('ES256', pair, { kid: 'one', ...header }, claims({ iss }));
    const refused = [
      `${encoded('secret-header')}.${encoded(claims())}.AAAA`,
      await token({}, 'https://nobody.example'),
      await token({ alg: 'HS256' }, `${ISSUER}/a`),
      await token({ typ: 'dpop+jwt' }, `${ISSUER}/a`),
      await token({ typ: 'dpop+jwt' }, `${ISSUER}/b`),
    ];
    for (const bearer of refused) expect((await sendAs(app, bearer)).status).toBe(401);
    const lines = warn.mock.calls.map(([line]) => String(line)).filter((line) => line.includes('refused'));
    warn.mockRestore();
    const rest = 'Such a line is logged once a minute at most.';
    expect(lines).toEqual([
      `A token was refused: its header is not a JSON object. ${rest}`,
      `A token of ${ISSUER}/a was refused: its "alg" is none of RS256, PS256, ES256, EdDSA. ${rest}`,
      `A token of ${ISSUER}/b was refused: its "typ" is not JWT or at+jwt. ${rest}`,
    ]);
    await app.close();
    rmSync(folder, { recursive: true });
  });
});
