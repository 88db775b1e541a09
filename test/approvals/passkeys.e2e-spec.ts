import type { AgentResponse } from '../../src/governance/agents/dto/agent.dto';
import { ORIGIN, RP_ID, SoftwareAuthenticator } from '../support/application/authenticator';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, issueKey } from '../support/application/factories';
import { type Answer, faults, send } from '../support/application/send';
import { temporaryDatabase } from '../support/database/temporary-database';
import { moveTime, restoreTime } from '../support/database/moved-time';

/** A person, with a key of their own. */
interface Person {
  readonly agent: AgentResponse;
  readonly key: string;
}

describe('Passkeys', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ environment: { PUBLIC_URL: ORIGIN } });
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const reasonOf = ({ status, body }: Answer): unknown[] => [status, body.error?.reason];

  let people = 0;
  async function person(kind = 'human', from = app): Promise<Person> {
    people += 1;
    const agent = await createAgent(from, { name: `person ${people}`, kind });
    const { secret } = await issueKey(from, { agentId: agent.id, scopes: ['review'] });
    return { agent, key: secret };
  }

  const path = ({ agent }: Person, more = ''): string => `/api/v1/agents/${agent.id}/passkeys${more}`;
  const options = (who: Person, key = who.key, from = app): Promise<Answer> =>
    send(from, 'POST', path(who, '/options'), { key });
  const register = (who: Person, body: object): Promise<Answer> =>
    send(app, 'POST', path(who), { key: who.key, body: { name: 'Phone', ...body } });
  const remove = (who: Person, id: string, body: object, key = who.key): Promise<Answer> =>
    send(app, 'POST', path(who, `/${id}/remove`), { key, body });

  async function created(who: Person, device: SoftwareAuthenticator): Promise<object> {
    return device.create((await options(who)).body['challenge']);
  }

  /** Registers another device with the signature of one that the person has. */
  async function registered(
    who: Person,
    device: SoftwareAuthenticator,
    signer?: SoftwareAuthenticator,
  ): Promise<string> {
    const signed = { agentId: who.agent.id, credentialId: device.id, verdict: 'register' };
    const signature = signer === undefined ? {} : { signature: signer.sign(signed) };
    const answer = await register(who, { credential: await created(who, device), ...signature });
    expect(answer.status).toBe(201);
    return answer.body.id;
  }

  it.each(['ES256', 'EdDSA', 'RS256'] as const)('are registered with %s, listed and removed', async (algorithm) => {
    const who = await person();
    const device = new SoftwareAuthenticator(algorithm);
    const { status, body: registration } = await options(who);
    expect({ status, rp: registration['rp'].id, user: registration['user'].name }).toEqual({
      ...{ status: 200, rp: RP_ID, user: who.agent.name },
    });
    expect(registration).toMatchObject({
      attestation: 'none',
      authenticatorSelection: { userVerification: 'required' },
    });
    const made = await register(who, { credential: device.create(registration['challenge']), name: 'My phone' });
    const passkey = made.body;
    expect(passkey).toEqual({
      ...{ id: expect.stringMatching(/^psk_/), agentId: who.agent.id, name: 'My phone', rpId: RP_ID },
      ...{ credentialId: device.id, publicKey: device.publicKey, createdAt: expect.any(String) },
    });
    for (const key of [who.key, undefined]) {
      const list = await send(app, 'GET', path(who), key === undefined ? {} : { key });
      expect(list.body).toEqual({ data: [passkey], total: 1 });
      const one = await send(app, 'GET', made.headers.get('location') ?? '', key === undefined ? {} : { key });
      expect({ status: one.status, body: one.body }).toEqual({ status: 200, body: passkey });
    }
    const verdict = { agentId: who.agent.id, passkeyId: passkey.id, verdict: 'remove' };
    const removed = await remove(who, passkey.id, { signature: device.sign(verdict) });
    expect({ status: removed.status, body: removed.body }).toEqual({ status: 200, body: passkey });
    expect((await remove(who, passkey.id, { signature: device.sign(verdict) })).status).toBe(404);
    expect((await auditOf(app, passkey.id)).map(({ action, agentId }) => [action, agentId])).toEqual([
      ['passkey.registered', who.agent.id],
      ['passkey.removed', who.agent.id],
    ]);
    const { body: entries } = await send(app, 'GET', `/api/v1/provenance?subjectId=${passkey.id}&order=asc`);
    expect(entries.data.at(-1).stateHash).toBeNull();
  });

  it('belong to the person alone, the operator being no exception', async () => {
    const [who, other] = [await person(), await person()];
    const passkeyId = await registered(who, new SoftwareAuthenticator());
    for (const sent of [{ key: other.key }, {}]) {
      for (const [at, body] of [
        ['/options', undefined],
        ['', { credential: {}, name: 'x' }],
      ] as const) {
        const answer = await send(app, 'POST', path(who, at), { ...sent, ...(body && { body }) });
        expect({ status: answer.status, reason: answer.body.error.reason }).toEqual({
          ...{ status: 403, reason: 'not_this_agent' },
        });
      }
    }
    expect((await remove(who, passkeyId, {}, other.key)).body.error.reason).toBe('not_this_agent');
    for (const at of ['', `/${passkeyId}`]) {
      expect((await send(app, 'GET', path(who, at), { key: other.key })).body.error.reason).toBe('scope_missing');
    }
    expect((await send(app, 'GET', path(other, `/${passkeyId}`))).status).toBe(404);
    expect((await send(app, 'POST', path(who, `/${passkeyId}/remove`))).body.id).toBe(passkeyId);
  });

  it('are for people, and for services with a host name', async () => {
    const machine = await person('machine');
    expect((await options(machine)).status).toBe(409);
    expect((await register(machine, { credential: {} })).status).toBe(409);
    expect((await send(app, 'GET', path(machine))).status).toBe(409);
    expect((await send(app, 'POST', '/api/v1/agents/nobody/passkeys/options')).status).toBe(404);
    for (const environment of [{}, { PUBLIC_URL: 'http://127.0.0.1:3000' }, { PUBLIC_URL: 'https://[::1]' }]) {
      const elsewhere = await createTestApp({ environment });
      const who = await person('human', elsewhere);
      expect((await options(who, who.key, elsewhere)).status).toBe(409);
      await elsewhere.close();
    }
  });

  it('are refused where anything of the credential is wrong', async () => {
    const [who, other] = [await person(), await person()];
    const device = new SoftwareAuthenticator();
    const { challenge } = (await options(who)).body as unknown as { challenge: string };
    const late = Buffer.from(challenge, 'base64url');
    late.writeBigUInt64BE(late.readBigUInt64BE() - 300_001n);
    const wrong = [
      {},
      { id: 'x', response: { attestationObject: 7 } },
      device.create(challenge, { origin: 'https://governance.example.evil' }),
      device.create(challenge, { rpId: 'evil.example' }),
      device.create(challenge, { type: 'webauthn.get' }),
      device.create(challenge, { flags: 0x41 }),
      device.create(Buffer.alloc(40).toString('base64url')),
      device.create(late.toString('base64url')),
      device.create((await options(other)).body['challenge']),
    ];
    for (const credential of wrong) {
      const answer = await register(who, { credential });
      expect({ status: answer.status, faults: Object.keys(faults(answer)) }).toEqual({
        ...{ status: 400, faults: ['credential'] },
      });
    }
    const large = await register(who, { credential: { id: 'x'.repeat(8_192) } });
    expect(faults(large)).toEqual({ credential: 'must have at most 8192 bytes' });
    const huge = await register(who, { credential: { id: 'x'.repeat(1_048_576) } });
    expect(huge.status).toBe(413);
    expect((await send(app, 'GET', path(who))).body.total).toBe(0);
  });

  describe('registered with an Idempotency-Key', () => {
    afterEach(restoreTime);

    it('are answered as the first time when the challenge is over', async () => {
      const who = await person();
      const body = { name: 'Phone', credential: await created(who, new SoftwareAuthenticator()) };
      const repeat = (name: string): Promise<Answer> =>
        send(app, 'POST', path(who), { key: who.key, body, headers: { 'Idempotency-Key': name } });
      const first = await repeat('once');
      await moveTime(6 * 60_000);
      const again = await repeat('once');
      expect([first.status, again.status, again.body]).toEqual([201, 201, first.body]);
      expect(Object.keys(faults(await repeat('another')))).toEqual(['credential']);
    });
  });

  it('do not come back by the credential and the signature with which they were registered', async () => {
    const who = await person();
    const [first, lost] = [new SoftwareAuthenticator(), new SoftwareAuthenticator()];
    await registered(who, first);
    const credential = await created(who, lost);
    const signature = first.sign({ agentId: who.agent.id, credentialId: lost.id, verdict: 'register' });
    const { id } = (await register(who, { credential, signature })).body;
    const removal = { agentId: who.agent.id, passkeyId: id, verdict: 'remove' };
    expect((await remove(who, id, { signature: first.sign(removal) })).status).toBe(200);
    const again = await register(who, { credential, signature });
    expect([again.status, again.body.error?.message]).toEqual([
      409,
      'This person has removed a passkey since the options were made. Request new ones.',
    ]);
    await registered(who, new SoftwareAuthenticator(), first);
  });

  it('of two people never have the same key, which would count as the devices of both', async () => {
    const [ann, ben] = [await person(), await person()];
    const device = new SoftwareAuthenticator();
    await registered(ann, device);
    const twin = new SoftwareAuthenticator('ES256', device);
    const answer = await register(ben, { credential: await created(ben, twin) });
    expect([answer.status, answer.body.error?.message]).toEqual([409, 'This passkey is registered already.']);
    expect((await send(app, 'GET', path(ben))).body.total).toBe(0);
    await registered(ben, new SoftwareAuthenticator());
  });

  it('are added and removed by the person with one that the person has', async () => {
    const [who, thief] = [await person(), await person()];
    const [first, second, stolen] = [0, 1, 2].map(() => new SoftwareAuthenticator()) as [
      SoftwareAuthenticator,
      SoftwareAuthenticator,
      SoftwareAuthenticator,
    ];
    const alone = { agentId: who.agent.id, credentialId: first.id, verdict: 'register' };
    const bySelf = await register(who, { credential: await created(who, first), signature: first.sign(alone) });
    expect(reasonOf(bySelf)).toEqual([403, 'signature_invalid']);
    const firstId = await registered(who, first);
    await registered(thief, stolen);
    const about = { agentId: who.agent.id, credentialId: second.id, verdict: 'register' };
    const wrong = [
      undefined,
      {},
      stolen.sign(about),
      second.sign(about),
      first.sign({ ...about, credentialId: first.id }),
      first.sign(about, { origin: 'https://evil.example' }),
      first.sign(about, { flags: 0x01 }),
    ];
    const recorded = async (): Promise<number> => (await send(app, 'GET', '/api/v1/audit')).body.total as number;
    const before = await recorded();
    for (const signature of wrong) {
      const answer = await register(who, { credential: await created(who, second), ...(signature && { signature }) });
      expect(reasonOf(answer)).toEqual([403, signature === undefined ? 'signature_required' : 'signature_invalid']);
    }
    expect(await recorded()).toBe(before);
    const secondId = await registered(who, second, first);
    const again = await register(who, { credential: await created(who, second), signature: first.sign(about) });
    expect(again.status).toBe(409);
    expect((await register(thief, { credential: await created(thief, first) })).status).toBe(409);
    expect(reasonOf(await remove(who, firstId, {}))).toEqual([403, 'signature_required']);
    const signed = { agentId: who.agent.id, passkeyId: secondId, verdict: 'remove' };
    expect(reasonOf(await remove(who, firstId, { signature: first.sign(signed) }))).toEqual([403, 'signature_invalid']);
    expect((await remove(thief, firstId, { signature: stolen.sign(signed) })).status).toBe(404);
    expect((await remove(who, firstId, { signature: second.sign({ ...signed, passkeyId: firstId }) })).status).toBe(
      200,
    );
    const third = new SoftwareAuthenticator();
    const byRemoved = first.sign({ ...about, credentialId: third.id });
    const answer = await register(who, { credential: await created(who, third), signature: byRemoved });
    expect(reasonOf(answer)).toEqual([403, 'signature_invalid']);
  });

  it('are at most ten, also where many are registered at once', async () => {
    const who = await person();
    const first = new SoftwareAuthenticator();
    await registered(who, first);
    const answers = await Promise.all(
      Array.from({ length: 11 }, async () => {
        const device = new SoftwareAuthenticator();
        const signed = { agentId: who.agent.id, credentialId: device.id, verdict: 'register' };
        return register(who, { credential: await created(who, device), signature: first.sign(signed) });
      }),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array<number>(9).fill(201), 409, 409]);
    expect((await send(app, 'GET', path(who))).body.total).toBe(10);
  });

  it('of another host neither sign nor count, and the start says how many there are', async () => {
    const [database, lines] = [await temporaryDatabase(), [] as string[]];
    const logStream = { write: (line: string) => void lines.push(line) };
    const startAt = (url: string): Promise<TestApp> =>
      createTestApp({ environment: { ...database.environment, PUBLIC_URL: url }, logStream });
    const warnings = (): string[] => lines.filter((line) => line.includes('passkeys were made for another host'));
    const before = await startAt('https://before.example');
    const who = await person('human', before);
    const add = async (from: TestApp, device: SoftwareAuthenticator, host: string, signer?: SoftwareAuthenticator) => {
      const at = { rpId: host, origin: `https://${host}` };
      const credential = device.create((await options(who, who.key, from)).body['challenge'], at);
      const signed = { agentId: who.agent.id, credentialId: device.id, verdict: 'register' };
      const body = { name: 'Phone', credential, ...(signer && { signature: signer.sign(signed, at) }) };
      return send(from, 'POST', path(who), { key: who.key, body });
    };
    const [old, first, second] = [
      new SoftwareAuthenticator(),
      new SoftwareAuthenticator(),
      new SoftwareAuthenticator(),
    ];
    const { id: oldId } = (await add(before, old, 'before.example')).body;
    await before.close();
    expect(warnings()).toEqual([]);

    const after = await startAt('https://after.example');
    expect(warnings()).toEqual([expect.stringContaining('1 of 1 passkeys')]);
    const removal = (from: TestApp, body: object = {}): Promise<Answer> =>
      send(from, 'POST', path(who, `/${oldId}/remove`), { key: who.key, body });
    const alone = await removal(after);
    expect(reasonOf(alone)).toEqual([403, 'signature_required']);
    expect(alone.body.error.message).toContain('no passkey for the host "after.example"');
    expect((await options(who, who.key, after)).body['excludeCredentials']).toEqual([]);
    expect((await add(after, first, 'after.example')).status).toBe(201);
    expect(reasonOf(await add(after, second, 'after.example'))).toEqual([403, 'signature_required']);
    expect((await add(after, second, 'after.example', first)).status).toBe(201);
    const verdict = { agentId: who.agent.id, passkeyId: oldId, verdict: 'remove' };
    const at = { rpId: 'after.example', origin: 'https://after.example' };
    expect((await removal(after, { signature: first.sign(verdict, at) })).status).toBe(200);
    await after.close();
    await database.remove();
  });
});
