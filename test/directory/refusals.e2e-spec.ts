import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { issueKey } from '../support/application/factories';
import { requirePresent } from '../../src/core/errors/domain-error';
import { type Answer, faults, send, sendRaw } from '../support/application/send';
import { DirectoryClient, ERROR, GROUP, PATCH, USER } from './directory-client';

const SCIM_TYPE = 'application/scim+json; charset=utf-8';

describe('Below /scim/v2', () => {
  let app: TestApp;
  let secret: string;
  let directory: DirectoryClient;
  const lines: string[] = [];

  beforeAll(async () => {
    app = await createTestApp({
      environment: { RATE_LIMIT: '20', BODY_LIMIT: '200000' },
      logStream: { write: (line: string) => void lines.push(line) },
    });
    secret = (await issueKey(app, { scopes: ['directory'] })).secret;
    directory = new DirectoryClient(app, secret);
  });
  afterAll(() => app.close());

  const expectRefusal = ({ status, headers, body }: Answer, expected: number): void => {
    expect([status, headers.get('content-type')]).toEqual([expected, SCIM_TYPE]);
    expect(body).toMatchObject({ schemas: [ERROR], status: String(expected), detail: expect.any(String) });
  };
  const ask = (method: string, path: string, sent: object): Promise<Answer> =>
    send(app, method, `/scim/v2${path}`, sent);

  it('requests with the scope directory are not counted by the rate limit', async () => {
    for (let count = 0; count < 30; count += 1) expect((await directory.send('GET', 'Users?count=1')).status).toBe(200);
  });

  it('one request is worked on at a time, and 200 wait; more are refused', async () => {
    const answers = await Promise.all(
      Array.from({ length: 400 }, (_, index) => {
        const body = { schemas: [USER], externalId: `queue-${index}`, userName: `queue-${index}` };
        return directory.send('POST', 'Users', body);
      }),
    );
    const refusals = answers.filter(({ status }) => status !== 201);
    expect(answers.length - refusals.length).toBeGreaterThan(200);
    expect(refusals.length).toBeGreaterThan(0);
    for (const refusal of refusals) expectRefusal(refusal, 503);
  });

  it('a PATCH has at most 1,000 operations', async () => {
    const user = { schemas: [USER], externalId: 'many', userName: 'many' };
    const { id } = (await directory.send('POST', 'Users', user)).body;
    const patch = (count: number): Promise<Answer> => {
      const operation = { op: 'replace', path: 'displayName', value: 'Ann' };
      return directory.send('PATCH', `Users/${id}`, { schemas: [PATCH], Operations: Array(count).fill(operation) });
    };
    expectRefusal(await patch(1_001), 400);
    expect((await patch(1_000)).status).toBe(200);
  });

  it('an operation has at most 4,998 members with a value alone', async () => {
    const { id } = (await directory.send('POST', 'Groups', { schemas: [GROUP], displayName: 'Large' })).body;
    const add = (members: number): Promise<Answer> =>
      directory.patch(`Groups/${id}`, { op: 'add', path: 'members', value: Array(members).fill({ value: 'agt_0' }) });
    expect((await add(4_999)).body).toMatchObject({ scimType: 'invalidSyntax' });
    // As many are read, and none of these is there.
    expect((await add(4_998)).body).toMatchObject({ scimType: 'invalidValue' });
  });

  it('all refusals have the form of SCIM', async () => {
    const key = secret;
    const body = { schemas: [USER], externalId: 'x', userName: 'x' };
    expectRefusal(await ask('GET', '/Users', { key: null }), 401);
    expectRefusal(await ask('GET', '/Users', { key: 'wrong' }), 401);
    expectRefusal(await ask('GET', '/Users', {}), 403);
    expectRefusal(await ask('GET', '/nothing', { key }), 404);
    expectRefusal(await ask('GET', '', { key }), 404);
    expectRefusal(await ask('PUT', '/Users', { key, body }), 405);
    expectRefusal(await ask('POST', '/Users', { key, body, headers: { 'Content-Type': 'text/plain' } }), 415);
    expectRefusal(await ask('POST', '/Users', { key, body: { x: 'x'.repeat(300_000) } }), 413);
    const malformed = await ask('POST', '/Users', {
      key,
      body: '{',
      headers: { 'Content-Type': 'application/scim+json' },
    });
    expectRefusal(malformed, 400);
    expect(malformed.body.scimType).toBe('invalidSyntax');
    const other = await directory.send('POST', 'Users', { ...body, schemas: [GROUP] });
    expectRefusal(other, 400);
    expect(other.body.scimType).toBe('invalidSyntax');
    expect((await ask('POST', '/Users', { key, body, headers: { 'Content-Type': 'application/json' } })).status).toBe(
      201,
    );
  });

  it('an attribute that is there twice is refused, also in another case', async () => {
    const id = await directory.addUser('twice');
    const member = `"schemas": ["${USER}"], "externalId": "id of twice", "userName": "twice"`;
    const patched = (value: string): string =>
      `{"schemas": ["${PATCH}"], "Operations": [{"op": "replace", "value": {${value}}}]}`;
    const bodies = [
      ...['"active": true, "active": false', '"active": true, "Active": false'].flatMap((pair) => [
        ['PUT', `{${member}, ${pair}}`],
        ['PATCH', patched(pair)],
      ]),
      ['PUT', `{${member}, "name": {"givenName": "a", "givenName": "b"}}`],
      [
        'PATCH',
        `{"schemas": ["${PATCH}"], "Operations": [{"op": "add", "op": "replace", "path": "active", "value": false}]}`,
      ],
      ['PATCH', patched(`"active": true, "${USER}:active": false`)],
    ] as const;
    for (const [method = '', body] of bodies) {
      const headers = { 'Content-Type': 'application/scim+json' };
      const answer = await ask(method, `/Users/${id}`, { key: secret, headers, body });
      expectRefusal(answer, 400);
      expect([body, answer.body.scimType]).toEqual([body, 'invalidSyntax']);
    }
    expect((await directory.send('GET', `Users/${id}`)).body.active).toBe(true);
  });

  it('paths and heads that cannot be read are refused in the form of SCIM', async () => {
    const host = 'Host: x\r\n';
    const requests = [
      `GET /scim/v2/Users/%zz HTTP/1.1\r\n${host}`,
      `GET http://x/scim/v2/Users/%00?count=1 HTTP/1.1\r\n${host}`,
      `GET /scim/v2 HTTP/1.1\r\n${host}${host}`,
    ];
    for (const request of requests) {
      const head = `${request}Authorization: Bearer ${secret}\r\nConnection: close\r\n\r\n`;
      const answer = await sendRaw(app, head);
      expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*\r\nContent-Type: application\/scim\+json; charset=utf-8\r\n/);
      const body: unknown = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')));
      expect(body).toMatchObject({ schemas: [ERROR], status: '400', scimType: expect.any(String) });
    }
    expect(await sendRaw(app, `GET /%zz HTTP/1.1\r\n${host}Connection: close\r\n\r\n`)).toContain('"error":');
  });

  it('requests that the rate limit refuses get the form of SCIM', async () => {
    const limited = await createTestApp({ environment: { RATE_LIMIT: '1' } });
    const answers = [1, 2].map(() => send(limited, 'GET', '/scim/v2/Users', { key: 'wrong' }));
    const refusal = (await Promise.all(answers)).find(({ status }) => status === 429);
    expectRefusal(requirePresent(refusal, 'refusal'), 429);
    await limited.close();
  });

  it.each([
    ['no operations', { schemas: [PATCH], Operations: [] }],
    ['no schema', { Operations: [{ op: 'replace', path: 'displayName', value: 'x' }] }],
    ['an unknown operation', { schemas: [PATCH], Operations: [{ op: 'move', path: 'displayName' }] }],
    ['a number as a name', { schemas: [PATCH], Operations: [{ op: 'replace', path: 'userName', value: 7 }] }],
    ['null as a name', { schemas: [PATCH], Operations: [{ op: 'replace', path: 'userName', value: null }] }],
    ['no path', { schemas: [PATCH], Operations: [{ op: 'remove', value: 'x' }] }],
    ['no object', { schemas: [PATCH], Operations: [{ op: 'replace', value: 'x' }] }],
    ['a malformed path', { schemas: [PATCH], Operations: [{ op: 'replace', path: '[[', value: 'x' }] }],
    [
      'a filter of a simple attribute',
      { schemas: [PATCH], Operations: [{ op: 'remove', path: 'active[value eq "x"]' }] },
    ],
    ['a text as active', { schemas: [PATCH], Operations: [{ op: 'replace', path: 'active', value: 'maybe' }] }],
    ['an object for an operation', { schemas: [PATCH], Operations: ['x'] }],
  ])('a PATCH with %s is 400', async (_what, body) => {
    const id = (await directory.find('Users', 'userName eq "x"'))[0]?.id ?? '';
    expectRefusal(await directory.send('PATCH', `Users/${id}`, body), 400);
  });

  it.each(['userName sw "x"', 'title eq "x"', 'userName eq "x" or userName eq "y"'])(
    'the filter %s is 400',
    async (filter) => {
      const answer = await directory.send('GET', `Users?filter=${encodeURIComponent(filter)}`);
      expectRefusal(answer, 400);
      expect(answer.body.scimType).toBe('invalidFilter');
    },
  );

  it('a wrong request for a list is 400', async () => {
    for (const query of ['startIndex=x', 'count=1.5', 'filter=', 'count=1&count=2'])
      expectRefusal(await directory.send('GET', `Users?${query}`), 400);
    expect((await directory.send('GET', 'Users?startIndex=-3&count=-1')).body).toMatchObject({
      startIndex: 1,
      itemsPerPage: 0,
    });
  });

  it('what the service supports and keeps is described', async () => {
    const { body } = await directory.send('GET', 'ServiceProviderConfig');
    expect(body).toMatchObject({ patch: { supported: true }, bulk: { supported: false }, filter: { maxResults: 200 } });
    const types = (await directory.send('GET', 'ResourceTypes')).body;
    expect(types.Resources.map(({ endpoint }: { endpoint: string }) => endpoint)).toEqual(['/Users', '/Groups']);
    expect((await directory.send('GET', 'ResourceTypes/Group')).body).toMatchObject({ schema: GROUP });
    const { attributes } = (await directory.send('GET', `Schemas/${USER}`)).body;
    expect(attributes.map(({ name }: { name: string }) => name).sort()).toEqual([
      ...['active', 'displayName', 'emails', 'externalId', 'userName'],
    ]);
    expect((await directory.send('GET', 'Schemas')).body.totalResults).toBe(2);
    for (const path of ['Schemas/x', 'ResourceTypes/x']) expectRefusal(await directory.send('GET', path), 404);
  });

  it('no body and no filter is logged', async () => {
    await directory.addUser('logged', { title: 'a title that nobody keeps' });
    await directory.find('Users', 'userName eq "logged"');
    expect(lines.join('')).toContain('/scim/v2/Users');
    expect(lines.join('')).not.toMatch(/nobody keeps|userName|logged@/);
  });

  it('keys with the scope directory can do nothing else', async () => {
    for (const path of ['/api/v1/me', '/api/v1/agents', '/api/v1/directory/groups', '/api/v1/events', '/metrics'])
      expect((await send(app, 'GET', path, { key: secret })).status).toBe(403);
    const { scopes } = (await send(app, 'GET', '/api/v1/me')).body;
    expect(scopes).not.toContain('directory');
    for (const body of [{ scopes: ['directory', 'read'] }, { scopes: ['directory', 'report'] }]) {
      const answer = await send(app, 'POST', '/api/v1/api-keys', { body: { name: 'x', ...body } });
      expect([answer.status, Object.keys(faults(answer))]).toEqual([400, ['scopes']]);
    }
  });
});
