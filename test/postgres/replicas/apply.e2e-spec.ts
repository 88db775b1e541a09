import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { chainIsValid } from '../../support/application/factories';
import { type Answer, type Parsed, send } from '../../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';

const ROUNDS = 5;

describe('A set of policies on two replicas', () => {
  let database: TemporaryDatabase;
  let replicas: [TestApp, TestApp];

  beforeAll(async () => {
    database = await temporaryDatabase();
    const start = (): Promise<TestApp> => createTestApp({ environment: database.environment });
    replicas = [await start(), await start()];
  });
  afterAll(async () => {
    await chainIsValid(replicas[0]);
    await Promise.all(replicas.map((replica) => replica.close()));
    await database.remove();
  });

  it('is applied completely by one of them at a time; the other one has to plan again', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [first, second] = replicas;
      const { base } = (await plan(first, '0')).body;
      const answers = await Promise.all([apply(first, base, `${round}.1`), apply(second, base, `${round}.2`)] as const);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
      const winner = answers.find(({ status }) => status === 200)?.body;
      const version = `${round}.${answers[0].status === 200 ? 1 : 2}`;
      for (const replica of replicas) {
        const { body } = await send(replica, 'GET', '/api/v1/policies?status=active');
        expect(body.data.map((policy: Parsed) => policy.version)).toEqual([version, version, version]);
        expect((await plan(replica, version)).body).toMatchObject({ base: winner.policySet, effects: [] });
      }
    }
  });
});

function policiesOf(version: string): object[] {
  return ['a', 'b', 'c'].map((name) => ({
    ...{ name, version, effect: 'allow', subjects: ['*'], actions: [name], resources: ['*'] },
  }));
}

function plan(app: TestApp, version: string): Promise<Answer> {
  return send(app, 'POST', '/api/v1/policies/plan', { body: { policies: policiesOf(version) } });
}

function apply(app: TestApp, base: string, version: string): Promise<Answer> {
  return send(app, 'POST', '/api/v1/policies/apply', { body: { base, policies: policiesOf(version) } });
}
