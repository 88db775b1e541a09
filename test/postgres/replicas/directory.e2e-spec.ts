import { DirectoryClient } from '../../directory/directory-client';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { chainIsValid, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';

/** Most rounds went wrong before. */
const ROUNDS = 20;
const ROLES = { 'id of Payers': ['payer'] };

describe('A directory whose requests reach two replicas at once', () => {
  let database: TemporaryDatabase;
  let replicas: [TestApp, TestApp];
  let one: DirectoryClient;
  let other: DirectoryClient;

  const start = (): Promise<TestApp> =>
    createTestApp({
      environment: { ...database.environment, DIRECTORY_ROLES: JSON.stringify(ROLES), RATE_LIMIT: '1000000' },
    });

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

  const rounds = Array.from({ length: ROUNDS }, (_, round) => round);
  const agentOf = async (id: string): Promise<{ status: string; roles: string[] }> =>
    (await send(replicas[0], 'GET', `/api/v1/agents/${id}`)).body;

  it('keeps a person suspended whose name another request changes', async () => {
    for (const round of rounds) {
      const id = await one.addUser(`leaver-${round}`);
      const answers = await Promise.all([
        one.patch(`Users/${id}`, { op: 'replace', path: 'active', value: false }),
        other.patch(`Users/${id}`, { op: 'replace', path: 'displayName', value: `Leaver ${round}` }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect((await agentOf(id)).status).toBe('suspended');
      expect((await one.send('GET', `Users/${id}`)).body).toMatchObject({
        active: false,
        displayName: `Leaver ${round}`,
      });
    }
  });

  it('gives no role to a person who is removed while they join', async () => {
    const group = await one.addGroup('Payers');
    for (const round of rounds) {
      const id = await one.addUser(`joiner-${round}`);
      const join = { op: 'add', path: 'members', value: [{ value: id }] };
      const [removed, joined] = await Promise.all([
        one.send('DELETE', `Users/${id}`),
        other.patch(`Groups/${group}`, join),
      ]);
      expect([removed.status, [204, 400].includes(joined.status)]).toEqual([204, true]);
      expect((await agentOf(id)).roles).toEqual([]);
      expect((await one.send('GET', `Groups/${group}`)).body.members ?? []).toEqual([]);
      const again = await one.addUser(`joiner-${round}`);
      expect([again, (await agentOf(id)).roles]).toEqual([id, []]);
      await one.send('DELETE', `Users/${id}`);
    }
  });

  it('removes a group for good that somebody joins meanwhile', async () => {
    const id = await one.addUser('member');
    for (const round of rounds) {
      const group = await one.addGroup(`Team ${round}`);
      const join = { op: 'add', path: 'members', value: [{ value: id }] };
      const [removed, joined] = await Promise.all([
        one.send('DELETE', `Groups/${group}`),
        other.patch(`Groups/${group}`, join),
      ]);
      expect([204, 503].includes(removed.status)).toBe(true);
      expect([204, 404].includes(joined.status)).toBe(true);
      if (removed.status === 204) expect((await one.send('GET', `Groups/${group}`)).status).toBe(404);
    }
  });

  it('keeps both names of a group that two requests change', async () => {
    for (const round of rounds) {
      const group = await one.addGroup(`Group ${round}`);
      await Promise.all([
        one.patch(`Groups/${group}`, { op: 'replace', path: 'displayName', value: `New ${round}` }),
        other.patch(`Groups/${group}`, { op: 'replace', path: 'externalId', value: `new-${round}` }),
      ]);
      const { body } = await one.send('GET', `Groups/${group}`);
      expect(body).toMatchObject({ displayName: `New ${round}`, externalId: `new-${round}` });
    }
  });
});
