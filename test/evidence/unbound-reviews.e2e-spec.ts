import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy, issueKey, propose } from '../support/application/factories';
import { send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

describe('A log with reviews by a key that is bound to nobody', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    const bot = await createAgent(app, { name: 'bot', capabilities: ['look'] });
    await createAgent(app, { name: 'eve' });
    await createPolicy(app, { name: 'looks', actions: ['look'] });
    return { app, bot, key: (await issueKey(app, { scopes: ['review'] })).secret };
  });

  it.each([
    ['approves it for somebody', 'approve', { approverId: 'eve' }],
    ['rejects it for somebody', 'reject', { approverId: 'eve' }],
    ['rejects it', 'reject', {}],
  ])('recomputes if no execution waits for the decision, and the holder %s', async (_what, verdict, body) => {
    const { app, bot, key } = stage;
    const { id } = await propose(app, bot.id);
    expect((await send(app, 'POST', `/api/v1/decisions/${id}/${verdict}`, { key, body })).status).toBe(200);
    const look = { action: 'look', resourceType: 'bill', resourceId: 'a', parameters: {} };
    const { body: execution } = await send(app, 'POST', '/api/v1/agents/bot/execute', { body: look });
    const { publicKey, log } = await keyAndLog(app);
    const { output } = await verifyFile(await decisionFileOf(app, execution), publicKey, log);
    expect(output).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
  });
});
