import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

describe('The decision file of an approval that was refused before', () => {
  const stage = stageOf(async () => ({ app: await createTestApp() }));
  const post = (path: string, body: object = {}): Promise<Parsed> =>
    send(stage.app, 'POST', `/api/v1${path}`, { body });

  it('recomputes with the export: its requester was suspended only then', async () => {
    const { app } = stage;
    await createAgent(app, { name: 'bot', capabilities: ['buy'] });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    await createPolicy(app, { name: 'asks', effect: 'require_approval', actions: ['buy'], approval });
    const { body: waiting } = await post('/agents/bot/execute', {
      action: 'buy',
      resourceType: 'order',
      resourceId: 'a',
      parameters: {},
    });
    const approve = (): Promise<Parsed> => post(`/decisions/${waiting.decisionId}/approve`, { approverId: 'ann' });
    await post('/agents/bot/suspend', {});
    expect((await approve())['status']).toBe(403);
    await post('/agents/bot/resume', {});
    expect((await approve())['status']).toBe(200);
    expect((await post(`/executions/${waiting.id}/resume`))['status']).toBe(200);
    const { publicKey, log } = await keyAndLog(app);
    const { output } = await verifyFile(await decisionFileOf(app, waiting), publicKey, log);
    expect(output).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
  });
});
