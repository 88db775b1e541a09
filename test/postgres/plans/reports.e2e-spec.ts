import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { moveTime, restoreTime } from '../../support/database/moved-time';
import { temporaryDatabase } from '../../support/database/temporary-database';

const HOUR = 3_600_000;

it('A report of one replica knows what another has changed in the past', async () => {
  const database = await temporaryDatabase();
  const { environment } = database;
  await moveTime(-5 * HOUR);
  const [one, other]: TestApp[] = [await createTestApp({ environment }), await createTestApp({ environment })];
  if (one === undefined || other === undefined) throw new Error('Two were started.');
  await createAgent(one, { name: 'bot', capabilities: ['*'] });
  await createPolicy(one);
  const body = { action: 'send', resourceType: 'mail', resourceId: '1' };
  const { body: execution } = await send(one, 'POST', '/api/v1/agents/bot/execute', { body });
  await restoreTime();
  const executed = async (app: TestApp): Promise<number[]> => {
    const { requests } = (await send(app, 'GET', '/api/v1/reports/oversight')).body;
    return requests.map((day: { executed: number }) => day.executed).filter((count: number) => count > 0);
  };
  expect([await executed(one), await executed(other)]).toEqual([[], []]);
  const result = { body: { outcome: 'executed' } };
  await send(other, 'POST', `/api/v1/executions/${execution.id as string}/result`, result);
  expect([await executed(one), await executed(other)]).toEqual([[1], [1]]);
  await one.close();
  await other.close();
  await database.remove();
});
