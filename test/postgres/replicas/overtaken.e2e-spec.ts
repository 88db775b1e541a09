import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { chainIsValid, createAgent, createEntity, createPolicy, issueKey } from '../../support/application/factories';
import { type Parsed, send } from '../../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';
import { overtake } from '../support/overtaking';

const ALLOWED = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true' };
const WEBHOOK = { url: 'http://127.0.0.1:9/hook', actions: ['entity.created'] };

/** A request to a record: its method, what follows the record's path, and its body. */
type Change = readonly [method: string, path: string, body?: object];

describe('A change that another replica overtakes', () => {
  let database: TemporaryDatabase;
  let replicas: [TestApp, TestApp];

  beforeAll(async () => {
    database = await temporaryDatabase();
    const start = (): Promise<TestApp> => createTestApp({ environment: { ...database.environment, ...ALLOWED } });
    replicas = [await start(), await start()];
  });
  afterAll(async () => {
    await chainIsValid(replicas[0]);
    await Promise.all(replicas.map((replica) => replica.close()));
    await database.remove();
  });

  const created = async (kind: string, body: object): Promise<Parsed> =>
    (await send(replicas[0], 'POST', `/api/v1/${kind}`, { body })).body;
  const path = (kind: string, { id }: Parsed): string => `/api/v1/${kind}/${id}`;

  it.each<[string, () => Promise<string>, Change, Change, object]>([
    [
      'description of an agent',
      async () => path('agents', await createAgent(replicas[0], { name: 'described' })),
      ['PATCH', '', { description: 'new' }],
      ['POST', '/suspend'],
      { description: 'new', status: 'suspended' },
    ],
    [
      'role of an agent',
      async () => path('agents', await createAgent(replicas[0], { name: 'capable', capabilities: ['pay'] })),
      ['PATCH', '', { roles: ['payer'] }],
      ['PATCH', '', { capabilities: [] }],
      { roles: ['payer'], capabilities: [] },
    ],
    [
      'team of an agent',
      async () => path('agents', await createAgent(replicas[0], { name: 'mover', roles: ['payer'] })),
      ['PATCH', '', { team: 'support' }],
      ['PATCH', '', { roles: [] }],
      { team: 'support', roles: [] },
    ],
    [
      'address of a person',
      async () => path('agents', await createAgent(replicas[0], { name: 'ann', kind: 'human', roles: ['payer'] })),
      ['PUT', '/email', { email: 'ann@example.com' }],
      ['PATCH', '', { roles: [] }],
      { email: 'ann@example.com', roles: [] },
    ],
    [
      'name of an entity',
      async () => path('entities', await createEntity(replicas[0])),
      ['PUT', '', { name: 'new' }],
      ['PUT', '', { type: 'other' }],
      { name: 'new', type: 'other' },
    ],
    [
      'description of a webhook',
      async () => path('webhooks', await created('webhooks', WEBHOOK)),
      ['PATCH', '', { description: 'new' }],
      ['PATCH', '', { actions: ['entity.deleted'] }],
      { description: 'new', actions: ['entity.deleted'] },
    ],
    [
      'secret of a webhook',
      async () => path('webhooks', await created('webhooks', WEBHOOK)),
      ['POST', '/rotate-secret'],
      ['PATCH', '', { url: 'http://127.0.0.1:9/other' }],
      { url: 'http://127.0.0.1:9/other' },
    ],
  ])('keeps what that has changed, besides the %s', async (_what, create, overtaken, overtaking, expected) => {
    const record = await create();
    const answers = await overtake(
      replicas[1],
      () => request(replicas[1], record, overtaken),
      () => request(replicas[0], record, overtaking),
    );
    expect(answers).toEqual([expect.any(Number), expect.any(Number)]);
    expect(answers.every((status) => status < 300)).toBe(true);
    expect((await send(replicas[0], 'GET', record)).body).toMatchObject(expected);
  });

  it('does not put back in force what that has replaced', async () => {
    const name = 'pay';
    const first = await createPolicy(replicas[0], { name, version: '1', actions: ['pay'] });
    const record = path('policies', first);
    const [status] = await overtake(
      replicas[1],
      () => request(replicas[1], record, ['POST', '/deactivate']),
      () => createPolicy(replicas[0], { name, version: '2', actions: ['pay'] }),
    );
    expect([status, (await send(replicas[0], 'GET', record)).body.status]).toEqual([409, 'superseded']);
  });

  it('is refused to a key which that has revoked', async () => {
    const { id, secret: key } = await issueKey(replicas[0], { scopes: ['admin'] });
    const agent = path('agents', await createAgent(replicas[0], { name: 'guarded' }));
    const [answer] = await overtake(
      replicas[1],
      () => send(replicas[1], 'PATCH', agent, { key, body: { description: 'new' } }),
      () => request(replicas[0], `/api/v1/api-keys/${id}`, ['POST', '/revoke']),
    );
    expect([answer.status, (await send(replicas[0], 'GET', agent)).body.description]).toEqual([401, '']);
  });
});

async function request(app: TestApp, record: string, [method, end, body]: Change): Promise<number> {
  return (await send(app, method, `${record}${end}`, body === undefined ? {} : { body })).status;
}
