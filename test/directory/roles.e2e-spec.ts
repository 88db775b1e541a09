import { unavailable } from '../../src/core/errors/domain-error';
import { LedgerService } from '../../src/ledger/ledger.service';
import { auditOf, chainIsValid, issueKey } from '../support/application/factories';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { DirectoryClient, GROUP } from './directory-client';

describe('DIRECTORY_ROLES', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  let secret: string;

  beforeAll(async () => {
    database = await temporaryDatabase();
    app = await start({});
    secret = (await issueKey(app, { scopes: ['directory'] })).secret;
  });
  afterAll(async () => {
    await app.close();
    await database.remove();
  });

  const start = (roles: Readonly<Record<string, readonly string[]>>): Promise<TestApp> =>
    createTestApp({ environment: { ...database.environment, DIRECTORY_ROLES: JSON.stringify(roles) } });
  const restart = async (roles: Readonly<Record<string, readonly string[]>>): Promise<void> => {
    await app.close();
    app = await start(roles);
  };
  const client = (): DirectoryClient => new DirectoryClient(app, secret);
  const rolesOf = async (id: string): Promise<string[]> => (await send(app, 'GET', `/api/v1/agents/${id}`)).body.roles;

  it('gives roles at the start to members of groups that it names by either id, by entries of the system', async () => {
    const [ann, ben] = [await client().addUser('ann'), await client().addUser('ben')];
    const [finance, sales] = [await client().addGroup('Finance', [ann, ben]), await client().addGroup('Sales', [ben])];
    await send(app, 'PATCH', `/api/v1/agents/${ben}`, { body: { roles: ['guest', 'finance'] } });
    expect([await rolesOf(ann), await rolesOf(ben)]).toEqual([[], ['guest', 'finance']]);
    await restart({ [finance]: ['finance', 'reviewer'], 'id of Sales': ['reviewer'] });
    expect([await rolesOf(ann), await rolesOf(ben)]).toEqual([
      ['finance', 'reviewer'],
      ['guest', 'finance', 'reviewer'],
    ]);
    const entries = await auditOf(app, ann);
    expect(entries.at(-1)).toMatchObject({
      action: 'agent.updated',
      actor: { type: 'system' },
      details: { fields: ['roles'] },
    });
    await restart({ [finance]: ['finance', 'reviewer'], 'id of Sales': ['reviewer'] });
    expect(await auditOf(app, ann)).toEqual(entries);
    const { data, total } = (await send(app, 'GET', '/api/v1/directory/groups')).body;
    expect([total, data]).toEqual([
      2,
      [
        {
          id: finance,
          externalId: 'id of Finance',
          displayName: 'Finance',
          members: 2,
          roles: ['finance', 'reviewer'],
        },
        { id: sales, externalId: 'id of Sales', displayName: 'Sales', members: 1, roles: ['reviewer'] },
      ],
    ]);
  });

  it('keeps a role as long as one group gives it', async () => {
    const [ben] = await client().find('Users', 'userName eq "ben"');
    const [finance] = await client().find('Groups', 'displayName eq "Finance"');
    await client().patch(`Groups/${finance?.id}`, { op: 'remove', path: 'members', value: [{ value: ben?.id }] });
    expect(await rolesOf(ben?.id ?? '')).toEqual(['guest', 'reviewer']);
  });

  it('follows a group whose externalId changes', async () => {
    const [ben] = await client().find('Users', 'userName eq "ben"');
    const [sales] = await client().find('Groups', 'displayName eq "Sales"');
    await client().patch(`Groups/${sales?.id}`, { op: 'replace', path: 'externalId', value: 'another' });
    expect(await rolesOf(ben?.id ?? '')).toEqual(['guest']);
    await client().patch(`Groups/${sales?.id}`, { op: 'replace', path: 'externalId', value: 'id of Sales' });
    expect(await rolesOf(ben?.id ?? '')).toEqual(['guest', 'reviewer']);
  });

  it('follows a group that a PUT without externalId replaces', async () => {
    const [ben] = await client().find('Users', 'userName eq "ben"');
    const [sales] = await client().find('Groups', 'displayName eq "Sales"');
    const path = `Groups/${sales?.id}`;
    const group = { schemas: [GROUP], displayName: 'Sales', members: [{ value: ben?.id }] };
    expect((await client().send('PUT', path, group)).body).toMatchObject({ externalId: 'id of Sales' });
    expect(await rolesOf(ben?.id ?? '')).toEqual(['guest', 'reviewer']);
    await client().patch(path, { op: 'remove', path: 'externalId' });
    expect(await rolesOf(ben?.id ?? '')).toEqual(['guest']);
    const namedGroup = { ...group, externalId: 'id of Sales' };
    expect((await client().send('PUT', path, namedGroup)).body).toMatchObject({ externalId: 'id of Sales' });
    expect(await rolesOf(ben?.id ?? '')).toEqual(['guest', 'reviewer']);
  });

  it('leaves to admins what it no longer names', async () => {
    const [ben] = await client().find('Users', 'userName eq "ben"');
    await restart({});
    expect(await rolesOf(ben?.id ?? '')).toEqual(['guest', 'reviewer']);
    const answer = await send(app, 'PATCH', `/api/v1/agents/${ben?.id}`, { body: { roles: [] } });
    expect(answer.body.roles).toEqual([]);
    await chainIsValid(app);
  });

  it('takes the roles of all members when a request is repeated that had failed halfway', async () => {
    const people: string[] = [];
    while (people.length < 150) people.push(await client().addUser(`member-${people.length}`));
    await restart({ 'id of Payers': ['payer'] });
    const group = await client().addGroup('Payers', people);
    const payers = async (): Promise<number> =>
      (await send(app, 'GET', '/api/v1/agents?role=payer&limit=1')).body.total;
    expect(await payers()).toBe(people.length);
    const ledger = app.application.get(LedgerService);
    const write = ledger.write.bind(ledger);
    let commands = 0;
    const writing = jest.spyOn(ledger, 'write').mockImplementation((caller, command) => {
      commands += 1;
      if (commands === 3) throw unavailable('The disk is busy.');
      return write(caller, command);
    });
    const rename = { op: 'remove', path: 'externalId' };
    const { status, body } = await client().patch(`Groups/${group}`, rename);
    expect([status, body.detail]).toEqual([503, expect.stringContaining('may have been written')]);
    writing.mockRestore();
    expect(await payers()).toBeLessThan(people.length);
    expect((await client().patch(`Groups/${group}`, rename)).status).toBe(204);
    expect(await payers()).toBe(0);
    await restart({});
  });

  it('gives no roles by an externalId that another group has', async () => {
    await restart({ 'id of Auditors': ['auditor'] });
    const person = await client().addUser('nosy');
    const group = await client().addGroup('Nosy', [person]);
    await client().addGroup('Auditors');
    const bind = { op: 'replace', path: 'externalId', value: 'id of Auditors' };
    expect((await client().patch(`Groups/${group}`, bind)).status).toBe(409);
    expect(await rolesOf(person)).toEqual([]);
    await restart({});
  });
});
