import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { describeOnSqlite } from '../../support/database/database-kind';
import { createAgent, createPolicy } from '../../support/application/factories';
import { type Parsed, send } from '../../support/application/send';
import { ROOT } from '../../support/documents/markdown';
import { p256Key } from '../../../src/core/values/p256-key';
import { builtClient, CLIENT } from '../typescript-client';
import { type Issuer, startIssuer } from './issuer';

const SECRET = Buffer.alloc(32, 9);
const PARAMETERS = { amount: 1200.5, to: { iban: 'DE00', Name: 'Å\u{1F600}', '\u20ac': [1e21, -0, true, null, 1e-7] } };
const PAYMENT = { action: 'send-payment', resourceType: 'payment', resourceId: 'payments/1', parameters: PARAMETERS };

/** A Python with PyJWT: Debian's own has it as a package. */
const python = ['python3', '/usr/bin/python3'].find(
  (name) => spawnSync(name, ['-c', 'import jwt, cryptography']).status === 0,
);
if (python === undefined) process.stdout.write('SKIPPED: the tests of permits.py need PyJWT with cryptography.\n');

interface Verifier {
  /** @param question the line, or what it says */
  ask(question: object | string): Promise<Parsed>;
  close(): Promise<void>;
}

/** Starts a program that answers each line by a line. */
function startVerifier(program: string, words: readonly string[], environment: object = {}): Verifier {
  const child: ChildProcess = spawn(program, words, {
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines: Interface = createInterface({ input: child.stdout ?? process.stdin });
  return {
    ask: async (question) => {
      child.stdin?.write(`${typeof question === 'string' ? question : JSON.stringify(question)}\n`);
      const [line] = (await once(lines, 'line')) as [string];
      return JSON.parse(line);
    },
    close: async () => {
      child.stdin?.end();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

const VERIFIERS: [name: string, start: (folder: string) => Verifier][] = [
  ['verifyPermit', (folder) => startVerifier(process.execPath, [join(folder, 'verify.mjs')])],
  ...(python === undefined
    ? []
    : [
        [
          'verify_permit',
          () => startVerifier(python, [join(__dirname, 'verify.py')], { PYTHONPATH: join(ROOT, 'clients', 'python') }),
        ] as [string, () => Verifier],
      ]),
];

describeOnSqlite('A target that verifies permits', () => {
  let issuer: Issuer;
  let folder: string;

  beforeAll(async () => {
    await builtClient();
    folder = mkdtempSync(join(tmpdir(), 'permits-'));
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(CLIENT, join(folder, 'node_modules', 'agent-governance-client'));
    // A copy: Node resolves what a program imports from where it really is.
    copyFileSync(join(__dirname, 'verify.mjs'), join(folder, 'verify.mjs'));
    issuer = await startIssuer({ PERMIT_AUDIENCES: 'bank,shop', PERMIT_KEY: SECRET.toString('base64') });
    await createPolicy(issuer.app, { actions: ['send-payment'] });
    await createAgent(issuer.app, { name: 'payer', capabilities: ['send-payment'] });
  });
  afterAll(async () => {
    await issuer.close();
    rmSync(folder, { recursive: true });
  });

  describe.each(VERIFIERS)('by %s', (language, start) => {
    let verifier: Verifier;
    let token: string;
    let expected: Parsed;
    let key: KeyObject;
    let header: Parsed;
    let claims: Parsed;

    beforeAll(async () => {
      verifier = start(folder);
      const body = { ...PAYMENT, permit: { audience: 'bank' }, onBehalfOf: { subject: 'user:4711' } };
      token = (await send(issuer.app, 'POST', '/api/v1/agents/payer/execute', { body })).body.permit;
      expected = { issuer: issuer.publicUrl, audience: 'bank', ...PAYMENT };
      [header, claims] = token.split('.', 2).map((part) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8')));
      key = p256Key(SECRET)?.privateKey ?? createPrivateKey('');
    });
    afterAll(() => verifier.close());

    /** A token that differs from the service's; with its key unless another is given. */
    function altered(changes: object, by: KeyObject = key, head: object = {}): string {
      const signed = `${encoded({ ...header, ...head })}.${encoded({ ...claims, ...changes })}`;
      const signature = sign('sha256', Buffer.from(signed), { key: by, dsaEncoding: 'ieee-p1363' });
      return `${signed}.${signature.toString('base64url')}`;
    }

    async function expectRefused(cases: Readonly<Record<string, object>>): Promise<void> {
      for (const [what, question] of Object.entries(cases)) {
        const answer = await verifier.ask({ ...expected, token, ...question });
        expect([what, answer.name]).toEqual([what, 'PermitError']);
      }
    }

    it('takes what is permitted, with the members in any order, and asks for the keys once', async () => {
      expect(await verifier.ask({ ...expected, token })).toEqual(claims);
      const before = issuer.keyRequests;
      const { to, amount } = PARAMETERS;
      expect(await verifier.ask({ ...expected, token, parameters: { to, amount } })).toEqual(claims);
      expect(issuer.keyRequests).toBe(before);
    });

    it('refuses it for anything else', async () => {
      await expectRefused({
        audience: { audience: 'shop' },
        action: { action: 'send-payments' },
        'type of resource': { resourceType: 'payments' },
        resource: { resourceId: 'payments/2' },
        amount: { parameters: { ...PARAMETERS, amount: 1200.51 } },
        'one parameter more': { parameters: { ...PARAMETERS, memo: '' } },
        'no parameters': { parameters: {} },
        'half of a surrogate pair': { parameters: { ...PARAMETERS, memo: '\ud800' } },
        'half of one in a name': { parameters: { ...PARAMETERS, '\udc00': '' } },
      });
    });

    it('refuses one that was changed', async () => {
      const [head = '', payload = '', signature = ''] = token.split('.');
      const last = signature.at(-1) === 'A' ? 'B' : 'A';
      await expectRefused({
        claims: { token: `${head}.${encoded({ ...claims, aud: 'bank', agent: 'agt_other' })}.${signature}` },
        signature: { token: `${head}.${payload}.${signature.slice(0, 10)}${'A'.repeat(76)}` },
        'the last character': { token: `${token.slice(0, -1)}${last}` },
        'bits that are not decoded': { token: token.slice(0, -1) + neighbour(token) },
        padding: { token: `${token}==` },
        'no signature': { token: `${head}.${payload}.` },
        'two parts': { token: `${head}.${payload}` },
        'no JSON': { token: 'a.b.c' },
        nothing: { token: '' },
      });
    });

    it('refuses another key and another algorithm', async () => {
      const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
      const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
      const unsigned = `${encoded({ ...header, alg: 'none' })}.${encoded(claims)}.`;
      const symmetric = `${encoded({ ...header, alg: 'HS256' })}.${encoded(claims)}`;
      const published = createPublicKey(key).export({ format: 'pem', type: 'spki' });
      const hmac = createHmac('sha256', published).update(symmetric).digest('base64url');
      const byRsa = `${encoded({ ...header, alg: 'RS256' })}.${encoded(claims)}`;
      await expectRefused({
        'another key': { token: altered({}, other) },
        'another key by its own name': { token: altered({}, other, { kid: 'other' }) },
        'a key without a name': { token: altered({}, key, { kid: undefined }) },
        'a key in the token': { token: altered({}, other, { jwk: createPublicKey(other).export({ format: 'jwk' }) }) },
        none: { token: unsigned },
        HS256: { token: `${symmetric}.${hmac}` },
        RS256: { token: `${byRsa}.${sign('sha256', Buffer.from(byRsa), rsa).toString('base64url')}` },
        'another type': { token: altered({}, key, { typ: 'at+jwt' }) },
        critical: { token: altered({}, key, { crit: ['exp'] }) },
      });
    });

    it('refuses one that is late, or not of its time, beyond thirty seconds', async () => {
      const now = Math.floor(Date.now() / 1_000);
      expect(await verifier.ask({ ...expected, token: altered({ exp: now - 10 }) })).toMatchObject({
        agent: claims.agent,
      });
      await expectRefused({
        late: { token: altered({ iat: now - 100, exp: now - 40 }) },
        early: { token: altered({ iat: now + 100, exp: now + 200 }) },
        'without an end': { token: altered({ exp: undefined }) },
        'without a beginning': { token: altered({ iat: undefined }) },
        'of another issuer': { token: altered({ iss: 'https://other.example.com' }) },
        'for several audiences': { token: altered({ aud: ['bank', 'shop'] }) },
        'of two actions': {
          token: altered({ authorization_details: [...claims.authorization_details, ...claims.authorization_details] }),
        },
        'of none': { token: altered({ authorization_details: undefined }) },
      });
    });

    it('takes it once where the target remembers, and again where it does not', async () => {
      expect(await verifier.ask({ ...expected, token, once: true })).toEqual(claims);
      expect((await verifier.ask({ ...expected, token, once: true })).message).toContain('used before');
      expect(await verifier.ask({ ...expected, token })).toEqual(claims);
    });

    it('takes no permit before it knows whether it was used', async () => {
      expect(await verifier.ask({ ...expected, token, once: 'later' })).not.toHaveProperty('jti');
    });

    it('does not take an integer for its neighbour', async () => {
      const hash = createHash('sha256').update('{"amount":9007199254740992}').digest('hex');
      const [details] = claims.authorization_details;
      const nearby = altered({ authorization_details: [{ ...details, parameters_hash: hash }] });
      const questionWith = (amount: string): string =>
        JSON.stringify({ ...expected, token: nearby, parameters: { amount: 0 } }).replace(
          '"amount":0',
          `"amount":${amount}`,
        );
      expect(await verifier.ask(questionWith('9007199254740992'))).toHaveProperty('jti');
      const answer = await verifier.ask(questionWith('9007199254740993'));
      // Where every number is a double, the target itself has read the neighbour, and acts on it.
      if (language === 'verify_permit') expect(answer.name).toBe('TypeError');
      else expect(answer).toHaveProperty('jti');
      expect((await verifier.ask(questionWith(`1${'0'.repeat(400)}`))).name).toBe('TypeError');
    });

    it('does not take part of what is expected for all of it', async () => {
      for (const name of ['issuer', 'audience', 'action', 'resourceType', 'resourceId', 'parameters'])
        expect([name, (await verifier.ask({ ...expected, token, [name]: undefined })).name]).toEqual([
          name,
          'TypeError',
        ]);
    });

    it('says that it cannot tell where the keys cannot be fetched', async () => {
      const answer = await verifier.ask({ ...expected, issuer: 'http://127.0.0.1:9', token });
      expect(answer.name).not.toBe('PermitError');
      expect(answer).not.toHaveProperty('jti');
    });
  });
});

/** The character that differs from the last one of a token in bits beyond its 64 bytes. */
function neighbour(token: string): string {
  const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return characters[characters.indexOf(token.slice(-1)) ^ 1] ?? '';
}
