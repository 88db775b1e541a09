import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { runVerifier } from '../support/processes/run-verifier';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

const RECOMPUTED = /\nRECOMPUTED: \w+ as recorded\n$/;

describe('A decision file, against an export of what happened since', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    const post = async (path: string, body: object = {}, more = {}): Promise<Parsed> =>
      (await send(app, 'POST', `/api/v1${path}`, { body, ...more })).body;
    const bot = await createAgent(app, { name: 'bot', capabilities: ['*'] });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
    const approval = { approvers: [{ subjects: ['role:finance'] }], grant: { for: 'PT1H', uses: 5, wider: true } };
    await createPolicy(app, { name: 'buys', effect: 'require_approval', actions: ['buy'], approval });
    await createPolicy(app, { name: 'sends', actions: ['send'] });
    const execute = (action: string, resourceId: string, more = {}): Promise<Parsed> =>
      post('/agents/bot/execute', { action, resourceType: 'o', resourceId, parameters: {} }, more);
    return { app, bot, post, execute };
  });

  it('recomputes if its key was refused once, and is revoked', async () => {
    const { app, bot, post, execute } = stage;
    const { id, secret: key } = await issueKey(app, { agentId: bot.id, scopes: ['execute'] });
    const execution = await execute('send', 'x', { key });
    expect((await send(app, 'POST', '/api/v1/policies', { body: {}, key })).status).toBe(403);
    await post(`/api-keys/${id}/revoke`);
    const { publicKey, log } = await keyAndLog(app);
    expect((await verifyFile(await decisionFileOf(app, execution as { id: string }), publicKey, log)).output).toMatch(
      RECOMPUTED,
    );
    expect((await runVerifier(['-'], log)).output).toMatch(/\nVALID\n$/);
  });

  it('recomputes if a grant was erased, also if the export has parts from before and after', async () => {
    const { app, post, execute } = stage;
    const approved = await execute('buy', 'a');
    const grant = { for: 'PT10M', uses: 3, resources: ['*'], parameters: 'any' };
    await post(`/decisions/${approved.decisionId}/approve`, { approverId: 'ann', grant });
    await post(`/executions/${approved.id}/resume`);
    const [granted, sent] = [await execute('buy', 'b'), await execute('send', 'b')];
    expect(granted.grantId).toEqual(expect.any(String));
    const files = [];
    for (const { id } of [approved, granted, sent]) files.push(await decisionFileOf(app, { id }));
    const { publicKey, log: part } = await keyAndLog(app);
    await post('/erasures', { subjects: [{ type: 'execution', id: approved.id }], reason: 'Asked for.' });
    const { log } = await keyAndLog(app);
    const after = part.trimEnd().split('\n').length - 1;
    const rest = (await send(app, 'GET', `/api/v1/provenance/export?after=${after}`)).text;
    expect(rest).toContain('"grant.erased"');
    for (const file of files)
      for (const exported of [part, log, part + rest])
        expect((await verifyFile(file, publicKey, exported)).output).toMatch(RECOMPUTED);
  });

  it.each([
    ['its last line', (log: string) => log.slice(0, log.lastIndexOf('\n', log.length - 2) + 1)],
    ['a part of its last line', (log: string) => log.slice(0, -9)],
  ])('is undecided if the export lacks %s', async (_case, cut) => {
    const { app, execute } = stage;
    const file = await decisionFileOf(app, (await execute('send', 'z')) as { id: string });
    const { publicKey, log } = await keyAndLog(app);
    expect((await verifyFile(file, publicKey, log)).output).toMatch(RECOMPUTED);
    const { exitCode, output } = await verifyFile(file, publicKey, cut(log));
    expect({ exitCode, output }).toMatchObject({ exitCode: 3 });
    expect(output).toMatch(/\nUNDECIDED: .* has no last line that says where it ends: it may have been cut off\.\n$/);
  });
});
