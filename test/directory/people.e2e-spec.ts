import { actionsOf, auditOf, chainIsValid, createAgent, issueKey, policySetOf } from '../support/application/factories';
import { ORIGIN, SoftwareAuthenticator } from '../support/application/authenticator';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { type Answer, send } from '../support/application/send';
import { DirectoryClient, USER } from './directory-client';

const MANAGED = [409, 'managed_by_directory'];

describe('A person from a directory', () => {
  let app: TestApp;
  let directory: DirectoryClient;

  beforeAll(async () => {
    app = await createTestApp({
      environment: { DIRECTORY_ROLES: '{"id of Finance":["finance"]}', RATE_LIMIT: '100000', PUBLIC_URL: ORIGIN },
    });
    directory = new DirectoryClient(app, (await issueKey(app, { scopes: ['directory'] })).secret);
  });
  afterAll(() => app.close());

  const admin = (method: string, path: string, body?: object): Promise<Answer> =>
    send(app, method, `/api/v1/agents/${path}`, body === undefined ? {} : { body });
  const read = async (id: string): Promise<Answer['body']> => (await admin('GET', id)).body;
  const outcome = ({ status, body }: Answer): unknown[] => [status, body?.error?.reason];
  const setActive = (id: string, active: boolean): Promise<Answer> =>
    directory.patch(`Users/${id}`, { op: 'replace', path: 'active', value: active });

  const registerPasskey = async (id: string): Promise<void> => {
    const { secret: key } = await issueKey(app, { agentId: id, scopes: ['review'] });
    const { body: options } = await send(app, 'POST', `/api/v1/agents/${id}/passkeys/options`, { key });
    const body = { credential: new SoftwareAuthenticator().create(options['challenge']), name: 'Phone' };
    expect((await send(app, 'POST', `/api/v1/agents/${id}/passkeys`, { key, body })).status).toBe(201);
  };

  it('has a location that begins with PUBLIC_URL, and leads to it by its path', async () => {
    const id = await directory.addUser('located');
    const user = (await directory.send('GET', `Users/${id}`)).body;
    expect(user.meta.location).toBe(`${ORIGIN}/scim/v2/Users/${id}`);
    const { pathname } = new URL(user.meta.location);
    expect((await directory.send('GET', pathname.replace('/scim/v2/', ''))).body).toEqual(user);
  });

  it('needs an externalId, which never changes', async () => {
    for (const externalId of [undefined, null, '']) {
      const { status, body } = await directory.send('POST', 'Users', {
        schemas: [USER],
        userName: 'nobody',
        externalId,
      });
      expect([status, body.scimType]).toEqual([400, 'invalidValue']);
    }
    const id = await directory.addUser('fixed');
    for (const operation of [
      { op: 'replace', path: 'externalId', value: 'another' },
      { op: 'remove', path: 'externalId' },
      { op: 'add', value: { externalId: 'another' } },
    ]) {
      const { status, body } = await directory.patch(`Users/${id}`, operation);
      expect([status, body.scimType]).toEqual([400, 'mutability']);
    }
    expect(
      (await directory.patch(`Users/${id}`, { op: 'replace', path: 'externalId', value: 'id of fixed' })).status,
    ).toBe(200);
    expect((await read(id)).directory).toBe('id of fixed');
  });

  it.each(['', 'a/b', 'agt_x', ' x', 'x\u0000', 'role:x', 'x'.repeat(201)])(
    'cannot have the userName %j',
    async (userName) => {
      const { status, body } = await directory.send('POST', 'Users', { schemas: [USER], externalId: 'x', userName });
      expect([status, Array.isArray(body.schemas)]).toEqual([400, true]);
    },
  );

  it('is suspended and resumed by entries of the directory, and a request that changes nothing writes nothing', async () => {
    const id = await directory.addUser('entries', { emails: [{ value: 'entries@example.com' }] });
    await setActive(id, false);
    const before = await auditOf(app, id);
    expect(before.map(({ action }) => action)).toEqual(['agent.created', 'agent.suspended']);
    const { meta } = (await directory.send('GET', `Users/${id}`)).body;
    await setActive(id, false);
    await directory.send('PUT', `Users/${id}`, {
      ...{ schemas: [USER], userName: 'entries', emails: [{ value: 'entries@example.com' }], active: 'False' },
    });
    expect(await auditOf(app, id)).toEqual(before);
    expect((await directory.send('GET', `Users/${id}`)).body.meta).toEqual(meta);
    await directory.patch(`Users/${id}`, { op: 'replace', path: 'userName', value: 'entries 2' });
    const [, , renamed] = await auditOf(app, id);
    expect(renamed).toMatchObject({
      action: 'agent.updated',
      details: { fields: ['userName'] },
      actor: { type: 'api_key' },
    });
    expect((await read(id)).name).toBe('entries');
  });

  it('is not resumed by the directory when somebody else has suspended it', async () => {
    const id = await directory.addUser('held');
    await admin('POST', `${id}/suspend`, { reason: 'seen elsewhere' });
    await setActive(id, false);
    expect(outcome(await admin('POST', `${id}/resume`))).toEqual(MANAGED);
    expect((await setActive(id, true)).body.active).toBe(true);
    expect((await read(id)).status).toBe('suspended');
    await admin('POST', `${id}/resume`);
    expect((await read(id)).status).toBe('active');
  });

  it('stays suspended by an admin who suspends it after the directory did, which is on record', async () => {
    const id = await directory.addUser('held later');
    await setActive(id, false);
    await admin('POST', `${id}/suspend`, { reason: 'and by us' });
    await admin('POST', `${id}/suspend`, { reason: 'again' });
    const entries = (await auditOf(app, id)).filter(({ action }) => action === 'agent.suspended');
    expect(entries.map(({ reason }) => reason)).toEqual([null, 'and by us']);
    await setActive(id, true);
    expect((await read(id)).status).toBe('suspended');
  });

  it('cannot be changed by others in what the directory manages', async () => {
    const id = await directory.addUser('managed');
    await directory.addGroup('Finance', [id]);
    const own = (await issueKey(app, { scopes: ['review'], agentId: id })).secret;
    const email = { email: 'x@example.com' };
    expect(outcome(await admin('PUT', `${id}/email`, email))).toEqual(MANAGED);
    expect(outcome(await admin('DELETE', `${id}/email`))).toEqual(MANAGED);
    expect(outcome(await send(app, 'PUT', `/api/v1/agents/${id}/email`, { key: own, body: email }))).toEqual(MANAGED);
    for (const body of [{ roles: [] }, { directory: null }, { directory: 'another' }])
      expect(outcome(await admin('PATCH', id, body))).toEqual(MANAGED);
    const policy = { name: 'p', version: '1', effect: 'allow', subjects: ['*'], actions: ['*'], resources: ['*'] };
    const agents = [{ name: 'managed', kind: 'human' }];
    const declared = { base: await policySetOf(app), policies: [policy], agents };
    expect(outcome(await send(app, 'POST', '/api/v1/policies/apply', { body: declared }))).toEqual(MANAGED);
    await setActive(id, false);
    expect(outcome(await admin('POST', `${id}/resume`))).toEqual(MANAGED);
    await setActive(id, true);
    const others = { roles: ['finance', 'reviewer'], slackId: 'T1/U1', description: 'x', capabilities: ['read'] };
    expect((await admin('PATCH', id, others)).body).toMatchObject(others);
  });

  it('takes a name with a number if another one from the directory has it, and no other name', async () => {
    const first = await directory.addUser('jo');
    await directory.send('DELETE', `Users/${first}`);
    const second = await directory.addUser('jo', { externalId: 'jo 2' });
    await directory.patch(`Users/${second}`, { op: 'replace', path: 'userName', value: 'joanna' });
    const third = await directory.addUser('jo', { externalId: 'jo 3' });
    expect([(await read(second)).name, (await read(third)).name]).toEqual(['jo-2', 'jo-3']);
    await createAgent(app, { name: 'bot' });
    for (const userName of ['bot', 'JOANNA']) {
      const { status, body } = await directory.send('POST', 'Users', { schemas: [USER], externalId: 'new', userName });
      expect([status, body.scimType]).toEqual([409, 'uniqueness']);
    }
  });

  it('may be one who was registered before, once an admin has bound the person', async () => {
    const { id } = await createAgent(app, { name: 'earlier', kind: 'human', roles: ['finance', 'reviewer'] });
    const body = { schemas: [USER], externalId: 'e1', userName: 'earlier', active: true };
    expect((await directory.send('POST', 'Users', body)).body.scimType).toBe('uniqueness');
    expect((await admin('PATCH', id, { directory: 'e1' })).status).toBe(200);
    const other = await createAgent(app, { name: 'other', kind: 'human' });
    expect((await admin('PATCH', other.id, { directory: 'e1' })).status).toBe(409);
    const machine = await createAgent(app, { name: 'machine' });
    expect((await admin('PATCH', machine.id, { directory: 'm1' })).status).toBe(400);
    const created = await directory.send('POST', 'Users', body);
    expect([created.status, created.body.id]).toEqual([201, id]);
    expect((await read(id)).roles).toEqual(['reviewer']);
  });

  it('comes back as the same agent, without slackId and the roles that an admin gave', async () => {
    const id = await directory.addUser('back', { emails: [{ value: 'back@example.com' }] });
    await admin('PATCH', id, { roles: ['reviewer'], slackId: 'T1/U9' });
    await registerPasskey(id);
    await directory.send('DELETE', `Users/${id}`);
    expect(outcome(await admin('POST', `${id}/resume`))).toEqual(MANAGED);
    expect(await read(id)).toMatchObject({ status: 'suspended', email: null, directory: 'id of back' });
    expect(await directory.addUser('back again', { externalId: 'id of back' })).toBe(id);
    expect(await read(id)).toMatchObject({ status: 'active', name: 'back', roles: [], slackId: null, email: null });
    expect(await actionsOf(app, id)).toEqual([
      ...['agent.created', 'agent.updated', 'agent.suspended', 'agent.updated', 'agent.updated', 'agent.resumed'],
    ]);
    expect((await admin('GET', `${id}/passkeys`)).body.total).toBe(0);
  });

  it('is taken back by an admin after the directory has removed it', async () => {
    const id = await directory.addUser('released');
    await directory.send('DELETE', `Users/${id}`);
    expect((await admin('PATCH', id, { directory: null })).body.directory).toBeNull();
    expect((await admin('POST', `${id}/resume`)).body.status).toBe('active');
    expect((await admin('PUT', `${id}/email`, { email: 'x@example.com' })).status).toBe(204);
  });

  it('leaves its groups, and their roles, when it is deleted', async () => {
    const id = await directory.addUser('leaver');
    const group = await directory.addGroup('Leavers', [id], { externalId: undefined });
    await directory.send('DELETE', `Users/${id}`);
    expect((await directory.send('GET', `Groups/${group}`)).body.members).toEqual([]);
    const add = await directory.patch(`Groups/${group}`, { op: 'add', path: 'members', value: [{ value: id }] });
    expect([add.status, add.body.scimType]).toEqual([400, 'invalidValue']);
  });

  it('has one address: the primary, else the one for work, else the first', async () => {
    const [a, b, c] = ['a@x.example', 'b@x.example', 'c@x.example'];
    const emailOf = async (emails: readonly object[]): Promise<string> => {
      const id = await directory.addUser(`mail ${JSON.stringify(emails).length}`, { emails });
      return (await read(id)).email;
    };
    expect(await emailOf([{ value: a }, { value: b, type: 'work' }, { value: c, primary: 'True' }])).toBe(c);
    expect(await emailOf([{ value: a }, { value: b, type: 'work' }])).toBe(b);
    expect(await emailOf([{ value: '' }, { value: a, type: 'home' }])).toBe(a);
    const id = await directory.addUser('mail', { emails: [{ value: a, type: 'work' }] });
    await directory.patch(`Users/${id}`, { op: 'add', path: 'emails[type eq "home"].value', value: b });
    await directory.patch(`Users/${id}`, { op: 'add', path: 'emails', value: [{ value: b, type: 'home' }] });
    expect((await read(id)).email).toBe(a);
    const wrong = await directory.patch(`Users/${id}`, { op: 'replace', path: 'emails.value', value: 'no address' });
    expect([wrong.status, wrong.body.scimType]).toEqual([400, 'invalidValue']);
  });

  it('leaves a chain that verifies', () => chainIsValid(app));
});
