import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, issueKey } from '../support/application/factories';
import { send, type Answer } from '../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { untilStatus } from './support/sessions';

/** Replicas also poll: in some rounds a poll would happen to come first. */
const ROUNDS = 5;

describe('A key that another replica has just issued', () => {
  let database: TemporaryDatabase;
  let writer: TestApp;
  let reader: TestApp;

  beforeAll(async () => {
    database = await temporaryDatabase();
    const start = (): Promise<TestApp> => createTestApp({ environment: database.environment });
    [writer, reader] = [await start(), await start()];
  });
  afterAll(async () => {
    await Promise.all([writer.close(), reader.close()]);
    await database.remove();
  });

  it('is accepted for an agent that was resumed before', async () => {
    const { id: agentId } = await createAgent(writer, { name: 'bot', capabilities: ['read'] });
    const earlier = await issueKey(writer, { agentId });
    const read = ({ secret }: { readonly secret: string }): Promise<Answer> =>
      send(reader, 'GET', '/api/v1/entities', { key: secret });
    for (let round = 0; round < ROUNDS; round += 1) {
      await send(writer, 'POST', `/api/v1/agents/${agentId}/suspend`);
      await untilStatus(() => read(earlier), 403);
      await send(writer, 'POST', `/api/v1/agents/${agentId}/resume`);
      expect((await read(await issueKey(writer, { agentId }))).status).toBe(200);
    }
  });
});
