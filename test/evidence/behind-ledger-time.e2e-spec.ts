import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../support/application/factories';
import { send } from '../support/application/send';
import { reviewer } from '../support/application/signers';
import { stageOf } from '../support/application/stage';
import { restoreTime, setClock } from '../support/database/moved-time';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

const MINUTE = 60_000;
const DAY = 86_400_000;

describe('A log of a service whose clock is behind ledger time', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['look'] });
    await createPolicy(app, { name: 'looks', actions: ['look'] });
    const [ann] = [await reviewer(app, 'ann', []), await reviewer(app, 'eve', [])];
    await setClock(MINUTE);
    await createAgent(app, { name: 'from ahead' });
    await restoreTime();
    return { app, ann };
  });
  afterAll(restoreTime);
  const timeIn = (distance: number): string => new Date(Date.now() + distance).toISOString();

  it('delegates by ledger time', async () => {
    const { app, ann } = stage;
    const delegate = async (times: object): Promise<number> => {
      const body = { to: 'eve', ...times };
      return (await send(app, 'POST', `/api/v1/agents/${ann.agent.id}/delegations`, { key: ann.key, body })).status;
    };
    expect(await delegate({ from: timeIn(MINUTE / 2), until: timeIn(DAY) })).toBe(400);
    expect(await delegate({ until: timeIn(MINUTE / 2) })).toBe(400);
    expect(await delegate({ from: timeIn(2 * MINUTE), until: timeIn(DAY) })).toBe(201);
    expect(await delegate({ until: timeIn(90 * DAY) })).toBe(201);
  });

  it('observes by ledger time', async () => {
    const observe = async (observeUntil: string): Promise<number> =>
      (await send(stage.app, 'PATCH', '/api/v1/agents/bot', { body: { observeUntil } })).status;
    expect(await observe(timeIn(MINUTE / 2))).toBe(400);
    expect(await observe(timeIn(30 * DAY))).toBe(200);
  });

  it('recomputes', async () => {
    const { app } = stage;
    const { secret: key } = await issueKey(app);
    // All of this has one time: the refusal is between other entries and those of the policies.
    expect((await send(app, 'POST', '/api/v1/entities', { key, body: {} })).body.error.reason).toBe('scope_missing');
    await createPolicy(app, { name: 'looks', version: '2', actions: ['look'] });
    const body = { action: 'look', resourceType: 'bill', resourceId: 'a', parameters: {} };
    const { body: execution } = await send(app, 'POST', '/api/v1/agents/bot/execute', { body });
    const { publicKey, log } = await keyAndLog(app);
    const { output } = await verifyFile(await decisionFileOf(app, execution), publicKey, log);
    expect(output).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
  });
});
