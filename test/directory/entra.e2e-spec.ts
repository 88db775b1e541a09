import { chainIsValid, issueKey } from '../support/application/factories';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';
import { DirectoryClient, ERROR, GROUP, LIST, USER } from './directory-client';

const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

/**
 * The requests are those of
 * https://learn.microsoft.com/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups.
 */
describe('Entra ID', () => {
  let app: TestApp;
  let entra: DirectoryClient;

  beforeAll(async () => {
    app = await createTestApp({
      environment: { DIRECTORY_ROLES: '{"8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159":["finance"]}' },
    });
    entra = new DirectoryClient(app, (await issueKey(app, { name: 'entra', scopes: ['directory'] })).secret);
  });
  afterAll(() => app.close());

  /** The body with which its provisioning service creates a user. */
  const created = (name: string): object => ({
    schemas: [USER, ENTERPRISE],
    externalId: `0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef-${name}`,
    userName: `Test_User_${name}`,
    active: true,
    displayName: 'lennay',
    emails: [{ primary: true, type: 'work', value: `Test_User_${name}@testuser.com` }],
    meta: { resourceType: 'User' },
    name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
    roles: [],
    title: 'secret title',
    [ENTERPRISE]: { department: 'bob', manager: { value: 'x' } },
  });

  it('tests the connection with a filter that matches no user', async () => {
    const { status, headers, body } = await entra.send('GET', 'Users?filter=userName+eq+%22non-existent%22');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/scim+json; charset=utf-8']);
    expect(body).toEqual({ schemas: [LIST], totalResults: 0, startIndex: 1, itemsPerPage: 0, Resources: [] });
  });

  it('creates a user, finds it by name in any case, and reads it', async () => {
    const { status, headers, body } = await entra.send('POST', 'Users', created('a'));
    expect(status).toBe(201);
    expect(body).toEqual({
      schemas: [USER],
      id: expect.stringMatching(/^agt_/),
      externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef-a',
      userName: 'Test_User_a',
      displayName: 'lennay',
      active: true,
      emails: [{ value: 'Test_User_a@testuser.com', type: 'work', primary: true }],
      meta: expect.objectContaining({ resourceType: 'User', location: `/scim/v2/Users/${body.id}` }),
    });
    expect(headers.get('location')).toBe(`/scim/v2/Users/${body.id}`);
    expect((await entra.send('GET', `Users/${body.id}`)).body).toEqual(body);
    expect(await entra.find('Users', 'userName eq "tEST_uSER_A"')).toEqual([body]);
    const agent = (await send(app, 'GET', `/api/v1/agents/${body.id}`)).body;
    expect(agent).toMatchObject({ kind: 'human', name: 'Test_User_a', directory: body.externalId, roles: [] });
    expect(agent.email).toBe('Test_User_a@testuser.com');
    const sealed = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    expect(sealed).toContain('Test_User_a');
    expect(sealed).not.toMatch(/secret title|familyName|lennay|testuser/);
  });

  it('is told that a user exists already', async () => {
    await entra.send('POST', 'Users', created('twice'));
    const { status, headers, body } = await entra.send('POST', 'Users', created('twice'));
    expect([status, headers.get('content-type')]).toEqual([409, 'application/scim+json; charset=utf-8']);
    expect(body).toEqual({ schemas: [ERROR], status: '409', scimType: 'uniqueness', detail: expect.any(String) });
  });

  it('changes nothing by attributes of other schemas that have the names of kept ones', async () => {
    const acme = (type: string): string => `urn:ietf:params:scim:schemas:extension:acme:2.0:${type}`;
    const { id } = (await entra.send('POST', 'Users', created('extended'))).body;
    const { body: before } = await entra.send('GET', `Users/${id}`);
    const { status, body } = await entra.patch(
      `Users/${id}`,
      { op: 'Replace', path: `${acme('User')}:active`, value: 'False' },
      { op: 'Replace', value: { [`${acme('User')}:displayName`]: 'Other', [`${acme('User')}:userName`]: 'other' } },
    );
    expect([status, body]).toEqual([200, before]);
    const members = [{ value: id }];
    const group = (await entra.send('POST', 'Groups', { schemas: [GROUP], displayName: 'extended', members })).body;
    await entra.patch(`Groups/${group.id}`, { op: 'Remove', path: `${acme('Group')}:members` });
    expect((await entra.send('GET', `Groups/${group.id}`)).body.members).toMatchObject(members);
  });

  it('is told that a person of its name is here in another spelling', async () => {
    await send(app, 'POST', '/api/v1/agents', {
      body: { name: 'test_user_spelt', kind: 'human', description: '', capabilities: [] },
    });
    const { status, body } = await entra.send('POST', 'Users', created('SPELT'));
    expect([status, body.scimType, body.detail]).toEqual([
      409,
      'uniqueness',
      expect.stringContaining('"test_user_spelt"'),
    ]);
  });

  it('is told that active is compared with true or false', async () => {
    const { status, body } = await entra.send('GET', `Users?filter=${encodeURIComponent('active eq "banana"')}`);
    expect([status, body.scimType]).toEqual([400, 'invalidFilter']);
  });

  it('changes attributes with the operations of its older and its newer form', async () => {
    const { id } = (await entra.send('POST', 'Users', created('b'))).body;
    const { status, body } = await entra.patch(
      `Users/${id}`,
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updatedEmail@microsoft.com' },
      { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
      { op: 'Add', path: `${ENTERPRISE}:department`, value: 'x' },
      { op: 'Replace', path: 'displayName', value: 'Lennay B' },
    );
    expect([status, body.emails[0].value, body.displayName]).toEqual([200, 'updatedEmail@microsoft.com', 'Lennay B']);
    const renamed = await entra.patch(`Users/${id}`, { op: 'replace', path: 'userName', value: 'renamed@example.com' });
    expect(renamed.body.userName).toBe('renamed@example.com');
    expect((await send(app, 'GET', `/api/v1/agents/${id}`)).body.name).toBe('Test_User_b');
    const cleared = await entra.patch(
      `Users/${id}`,
      { op: 'Remove', path: 'emails[type eq "work"].value' },
      { op: 'Replace', path: 'displayName', value: '' },
    );
    expect(Object.keys(cleared.body)).toEqual(['schemas', 'id', 'externalId', 'userName', 'active', 'meta']);
    const added = await entra.patch(`Users/${id}`, {
      op: 'Add',
      path: 'emails[type eq "work"].value',
      value: 'again@example.com',
    });
    expect(added.body.emails).toEqual([{ value: 'again@example.com', type: 'work', primary: true }]);
  });

  it.each([
    ['text', { op: 'Replace', path: 'active', value: 'False' }, { op: 'Replace', path: 'active', value: 'True' }],
    ['a boolean', { op: 'replace', path: 'active', value: false }, { op: 'replace', path: 'active', value: true }],
    ['an object', { op: 'replace', value: { active: 'False' } }, { op: 'add', value: { active: 'true' } }],
  ])('deactivates and reactivates a user by %s', async (way, off, on) => {
    const { id } = (await entra.send('POST', 'Users', created(way.replace(' ', '-')))).body;
    const statusOf = async (): Promise<string> => (await send(app, 'GET', `/api/v1/agents/${id}`)).body.status;
    expect((await entra.patch(`Users/${id}`, off)).body.active).toBe(false);
    expect(await statusOf()).toBe('suspended');
    expect(await entra.find('Users', 'active eq false')).toMatchObject([{ id }]);
    expect((await entra.patch(`Users/${id}`, on)).body.active).toBe(true);
    expect(await statusOf()).toBe('active');
  });

  it('deletes a user, which is 404 from then on', async () => {
    const { id } = (await entra.send('POST', 'Users', created('gone'))).body;
    expect(await entra.send('DELETE', `Users/${id}`)).toMatchObject({ status: 204, text: '' });
    for (const method of ['GET', 'DELETE']) expect((await entra.send(method, `Users/${id}`)).status).toBe(404);
    expect((await entra.patch(`Users/${id}`, { op: 'replace', path: 'active', value: true })).body.status).toBe('404');
    expect((await send(app, 'GET', `/api/v1/agents/${id}`)).body.status).toBe('suspended');
    expect(await entra.find('Users', 'userName eq "Test_User_gone"')).toEqual([]);
  });

  it('creates a group, changes its members and its name, and deletes it', async () => {
    const [ann, ben] = await Promise.all([entra.addUser('ann@contoso.com'), entra.addUser('ben@contoso.com')]);
    const rolesOf = async (id = ''): Promise<string[]> => (await send(app, 'GET', `/api/v1/agents/${id}`)).body.roles;
    const externalId = '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159';
    const { status, body } = await entra.send('POST', 'Groups', {
      schemas: [GROUP, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
      ...{ externalId, displayName: 'displayName', meta: { resourceType: 'Group' } },
    });
    expect([status, body.members]).toEqual([201, []]);
    const path = `Groups/${body.id}`;
    const without = await entra.send('GET', `${path}?excludedAttributes=members`);
    expect(Object.keys(without.body)).toEqual(['schemas', 'id', 'externalId', 'displayName', 'meta']);
    const search = `Groups?excludedAttributes=members&filter=${encodeURIComponent('displayName eq "displayName"')}`;
    expect((await entra.send('GET', search)).body).toMatchObject({ totalResults: 1, Resources: [without.body] });
    const add = { op: 'Add', path: 'members', value: [{ $ref: null, value: ann }, { value: ben }] };
    expect(await entra.patch(path, add)).toMatchObject({ status: 204, text: '' });
    expect([await rolesOf(ann), await rolesOf(ben)]).toEqual([['finance'], ['finance']]);
    await entra.patch(path, { op: 'Remove', path: 'members', value: [{ $ref: null, value: ann }] });
    await entra.patch(path, { op: 'Replace', path: 'displayName', value: '1879db59-3bdf-4490-ad68-ab880a269474' });
    expect((await entra.send('GET', path)).body).toMatchObject({
      displayName: '1879db59-3bdf-4490-ad68-ab880a269474',
      members: [{ value: ben, type: 'User' }],
    });
    await entra.patch(path, { op: 'Remove', path: `members[value eq "${ben}"]` });
    expect([await rolesOf(ann), await rolesOf(ben)]).toEqual([[], []]);
    await entra.patch(path, add);
    expect((await entra.send('DELETE', path)).status).toBe(204);
    expect([(await entra.send('GET', path)).status, await rolesOf(ann)]).toEqual([404, []]);
  });

  it('is told that a group exists already', async () => {
    await entra.addGroup('Sales');
    const { status, body } = await entra.send('POST', 'Groups', { schemas: [GROUP], displayName: 'Sales' });
    expect([status, body.scimType]).toEqual([409, 'uniqueness']);
  });

  it('leaves a chain that verifies', async () => {
    await chainIsValid(app);
  });
});
