import { DirectoryClient } from '../../directory/directory-client';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { chainIsValid, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';
import { overtake } from '../support/overtaking';

const ROLES = { 'id of Payers': ['payer'], 'id of Buyers': ['buyer'], 'id of Movers': ['mover'] };

describe('A directory whose requests reach two replicas at once', () => {
  let database: TemporaryDatabase;
  let replicas: [TestApp, TestApp];
  let one: DirectoryClient;
  let other: DirectoryClient;

  const start = (): Promise<TestApp> =>
    createTestApp({ environment: { ...database.environment, DIRECTORY_ROLES: JSON.stringify(ROLES) } });

  beforeAll(async () => {
    database = await temporaryDatabase();
    replicas = [await start(), await start()];
    const { secret } = await issueKey(replicas[0], { scopes: ['directory'] });
    [one, other] = [new DirectoryClient(replicas[0], secret), new DirectoryClient(replicas[1], secret)];
  });
  afterAll(async () => {
    await chainIsValid(replicas[0]);
    await Promise.all(replicas.map((replica) => replica.close()));
    await database.remove();
  });

  const agentOf = async (id: string): Promise<{ status: string; roles: string[] }> =>
    (await send(replicas[0], 'GET', `/api/v1/agents/${id}`)).body;
  const groupOf = async (name: string): Promise<string> =>
    (await one.find('Groups', `displayName eq "${name}"`))[0]?.id ?? '';
  const replace = (path: string, value: unknown): object => ({ op: 'replace', path, value });
  const join = (id: string): object => ({ op: 'add', path: 'members', value: [{ value: id }] });
  const membersOf = async (group: string): Promise<string[]> =>
    ((await one.send('GET', `Groups/${group}`)).body.members ?? []).map(({ value }: { value: string }) => value);

  it.each([
    ['PATCH', (id: string) => other.patch(`Users/${id}`, replace('displayName', 'Leaver'))],
    [
      'PUT',
      (id: string, userName: string) =>
        other.send('PUT', `Users/${id}`, { userName, displayName: 'Leaver', schemas: [] }),
    ],
  ])('keeps a person suspended whose name a %s changes', async (method, rename) => {
    const id = await one.addUser(`leaver by ${method}`);
    const [renamed, left] = await overtake(
      replicas[1],
      () => rename(id, `leaver by ${method}`),
      () => one.patch(`Users/${id}`, replace('active', false)),
    );
    expect([left.status, renamed.status]).toEqual([200, 200]);
    expect((await agentOf(id)).status).toBe('suspended');
    expect((await one.send('GET', `Users/${id}`)).body).toMatchObject({ active: false, displayName: 'Leaver' });
  });

  it('lets nobody join who is removed first', async () => {
    const [group, id] = [await one.addGroup('Payers'), await one.addUser('joiner')];
    const [joined, removed] = await overtake(
      replicas[1],
      () => other.patch(`Groups/${group}`, join(id)),
      () => one.send('DELETE', `Users/${id}`),
    );
    expect([removed.status, joined.status]).toEqual([204, 400]);
    expect([(await agentOf(id)).roles, await membersOf(group)]).toEqual([[], []]);
    const again = await one.addUser('joiner');
    expect([again, (await agentOf(id)).roles]).toEqual([id, []]);
  });

  it('takes the groups and roles of a person who joins first', async () => {
    const id = await one.addUser('payer');
    const group = await groupOf('Payers');
    const [removed, joined] = await overtake(
      replicas[1],
      () => other.send('DELETE', `Users/${id}`),
      () => one.patch(`Groups/${group}`, join(id)),
    );
    expect([joined.status, removed.status]).toEqual([204, 204]);
    expect([(await agentOf(id)).roles, await membersOf(group)]).toEqual([[], []]);
  });

  it('removes a group for good that somebody joins afterwards', async () => {
    const [group, id] = [await one.addGroup('Short'), await one.addUser('late')];
    const [joined, removed] = await overtake(
      replicas[1],
      () => other.patch(`Groups/${group}`, join(id)),
      () => one.send('DELETE', `Groups/${group}`),
    );
    expect([removed.status, joined.status]).toEqual([204, 404]);
    expect((await one.send('GET', `Groups/${group}`)).status).toBe(404);
  });

  it('takes the roles of who joins a group before it is removed', async () => {
    const [group, id] = [await one.addGroup('Buyers'), await one.addUser('early')];
    const [removed, joined] = await overtake(
      replicas[1],
      () => other.send('DELETE', `Groups/${group}`),
      () => one.patch(`Groups/${group}`, join(id)),
    );
    expect([joined.status, removed.status]).toEqual([204, 204]);
    expect((await agentOf(id)).roles).toEqual([]);
  });

  it.each([
    ['PATCH', (group: string) => other.patch(`Groups/${group}`, replace('displayName', 'New PATCH'))],
    ['PUT', (group: string) => other.send('PUT', `Groups/${group}`, { displayName: 'New PUT', schemas: [] })],
  ])('keeps the externalId of a group whose name a %s changes', async (method, rename) => {
    const group = await one.addGroup(`Old ${method}`);
    const [renamed, bound] = await overtake(
      replicas[1],
      () => rename(group),
      () => one.patch(`Groups/${group}`, replace('externalId', `new ${method}`)),
    );
    expect([bound.status, Math.floor(renamed.status / 100)]).toEqual([204, 2]);
    expect((await one.send('GET', `Groups/${group}`)).body).toMatchObject({
      displayName: `New ${method}`,
      externalId: `new ${method}`,
    });
  });

  it('gives roles by the id that a group has when somebody joins', async () => {
    const [group, id] = [await one.addGroup('Moved'), await one.addUser('mover')];
    const [joined, bound] = await overtake(
      replicas[1],
      () => other.patch(`Groups/${group}`, join(id)),
      () => one.patch(`Groups/${group}`, replace('externalId', 'id of Movers')),
    );
    expect([bound.status, joined.status]).toEqual([204, 204]);
    expect((await agentOf(id)).roles).toEqual(['mover']);
  });

  it('takes the roles of who joins a group whose id is removed meanwhile', async () => {
    const group = await groupOf('Moved');
    const id = await one.addUser('unlucky');
    const [unbound, joined] = await overtake(
      replicas[1],
      () => other.patch(`Groups/${group}`, { op: 'remove', path: 'externalId' }),
      () => one.patch(`Groups/${group}`, join(id)),
    );
    expect([joined.status, unbound.status]).toEqual([204, 204]);
    expect((await agentOf(id)).roles).toEqual([]);
  });
});
