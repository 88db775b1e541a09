import { chainIsValid, issueKey } from '../support/application/factories';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';
import { DirectoryClient, ERROR, GROUP, LIST, USER } from './directory-client';

/** The requests are those of https://developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20. */
describe('Okta', () => {
  let app: TestApp;
  let okta: DirectoryClient;

  beforeAll(async () => {
    app = await createTestApp({ environment: { DIRECTORY_ROLES: '{"00g1":["reviewer"]}' } });
    okta = new DirectoryClient(app, (await issueKey(app, { name: 'okta', scopes: ['directory'] })).secret);
  });
  afterAll(() => app.close());

  const created = (userName: string): object => ({
    schemas: [USER],
    userName,
    name: { givenName: 'Test', familyName: 'User' },
    emails: [
      { primary: false, value: 'home@example.com', type: 'home' },
      { primary: true, value: userName, type: 'work' },
    ],
    displayName: 'Test User',
    locale: 'en-US',
    externalId: `00u-${userName}`,
    groups: [],
    password: '1mz050nq',
    active: true,
  });

  it('looks for a user before it creates one, and reads what it created', async () => {
    const path = `Users?filter=${encodeURIComponent('userName eq "test.user@okta.local"')}&startIndex=1&count=100`;
    expect((await okta.send('GET', path)).body).toEqual({
      ...{ schemas: [LIST], totalResults: 0, startIndex: 1, itemsPerPage: 0, Resources: [] },
    });
    const { status, body } = await okta.send('POST', 'Users', created('test.user@okta.local'));
    expect([status, body.active, body.emails]).toEqual([
      ...[201, true],
      [{ value: 'test.user@okta.local', type: 'work', primary: true }],
    ]);
    expect((await okta.send('GET', path)).body).toMatchObject({ totalResults: 1, Resources: [body] });
    expect((await okta.send('GET', `Users/${body.id}`)).body).toEqual(body);
  });

  it('asks for a user that does not exist', async () => {
    const { status, body } = await okta.send('GET', 'Users/23a35c27-23d3-4c03-b4c5-6443c09e7173');
    expect([status, body]).toEqual([404, { schemas: [ERROR], status: '404', detail: expect.any(String) }]);
  });

  it('is told that a user exists already', async () => {
    await okta.send('POST', 'Users', created('twice@okta.local'));
    const again = await okta.send('POST', 'Users', { ...created('TWICE@okta.local'), externalId: 'another' });
    expect([again.status, again.body.scimType]).toEqual([409, 'uniqueness']);
  });

  it('replaces a user, with what it read before and without the externalId', async () => {
    const { body } = await okta.send('POST', 'Users', created('put@okta.local'));
    const { externalId, ...read } = body;
    const changed = await okta.send('PUT', `Users/${body.id}`, {
      ...read,
      ...{ userName: 'put.renamed@okta.local', displayName: null, emails: [{ value: '', type: 'work' }] },
    });
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({ id: body.id, externalId, userName: 'put.renamed@okta.local', active: true });
    expect(changed.body).not.toHaveProperty('displayName');
    expect(changed.body).not.toHaveProperty('emails');
    const other = await okta.send('PUT', `Users/${body.id}`, { ...read, externalId: 'another' });
    expect([other.status, other.body.scimType]).toEqual([400, 'mutability']);
  });

  it('deactivates a user by an object without a path, and reactivates it by PUT', async () => {
    const { body } = await okta.send('POST', 'Users', created('off@okta.local'));
    const off = await okta.patch(`Users/${body.id}`, { op: 'replace', value: { active: false } });
    expect([off.status, off.body.active]).toEqual([200, false]);
    expect((await send(app, 'GET', `/api/v1/agents/${body.id}`)).body.status).toBe('suspended');
    expect((await okta.send('PUT', `Users/${body.id}`, { ...body, active: true })).body.active).toBe(true);
    expect((await send(app, 'GET', `/api/v1/agents/${body.id}`)).body.status).toBe('active');
  });

  it('reads all users by pages', async () => {
    const ids: string[] = [];
    const { totalResults } = (await okta.send('GET', 'Users?count=0')).body;
    for (let startIndex = 1; startIndex <= totalResults; startIndex += 2) {
      const { body } = await okta.send('GET', `Users?startIndex=${startIndex}&count=2`);
      expect(body).toMatchObject({ totalResults, startIndex, itemsPerPage: body.Resources.length });
      ids.push(...body.Resources.map(({ id }: { id: string }) => id));
    }
    expect([totalResults > 3, new Set(ids).size, ids.length]).toEqual([true, totalResults, totalResults]);
  });

  it('pushes a group, renames it, adds, removes and replaces members, and deletes it', async () => {
    const [ann, ben] = [await okta.addUser('ann@okta.local'), await okta.addUser('ben@okta.local')];
    const rolesOf = async (id: string): Promise<string[]> =>
      (await send(app, 'GET', `/api/v1/agents/${id}`)).body.roles;
    const { status, body } = await okta.send('POST', 'Groups', {
      ...{ schemas: [GROUP], externalId: '00g1', displayName: 'Test SCIMv2' },
      members: [{ value: ann, display: 'ann@okta.local' }],
    });
    expect([status, body.members]).toEqual([201, [{ value: ann, type: 'User' }]]);
    const path = `Groups/${body.id}`;
    const renamed = await okta.patch(path, {
      op: 'replace',
      value: { id: body.id, displayName: 'Test SCIMv2 renamed' },
    });
    expect(renamed.status).toBe(204);
    await okta.patch(
      path,
      { op: 'remove', path: `members[value eq "${ann}"]` },
      {
        ...{ op: 'add', path: 'members' },
        value: [{ value: ben, display: 'ben@okta.local' }],
      },
    );
    expect((await okta.send('GET', 'Groups?startIndex=1&count=100')).body).toMatchObject({
      totalResults: 1,
      Resources: [{ displayName: 'Test SCIMv2 renamed', members: [{ value: ben }] }],
    });
    expect([await rolesOf(ann), await rolesOf(ben)]).toEqual([[], ['reviewer']]);
    await okta.patch(path, { op: 'replace', path: 'members', value: [{ value: ann }] });
    expect([await rolesOf(ann), await rolesOf(ben)]).toEqual([['reviewer'], []]);
    const put = await okta.send('PUT', path, { ...body, displayName: 'Test SCIMv2', members: [{ value: ben }] });
    expect(put.body).toMatchObject({ displayName: 'Test SCIMv2', members: [{ value: ben }] });
    expect((await okta.send('DELETE', path)).status).toBe(204);
    expect([await rolesOf(ann), await rolesOf(ben)]).toEqual([[], []]);
  });

  it('leaves a chain that verifies', async () => {
    await chainIsValid(app);
  });
});
