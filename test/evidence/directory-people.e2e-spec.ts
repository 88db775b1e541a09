import { company, requireApproval, approve, pending, resume } from '../approvals/support';
import { DirectoryClient } from '../directory/directory-client';
import { createTestApp } from '../support/application/create-test-app';
import { issueKey } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { entryOf, forge } from './forged-file';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

describe('The verifier, on an approval by a person whose roles follow the groups of a directory', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({
      environment: { DIRECTORY_ROLES: JSON.stringify({ 'id of Finance': ['finance'] }) },
    });
    const client = new DirectoryClient(app, (await issueKey(app, { scopes: ['directory'] })).secret);
    const { bot } = await company(app);
    await requireApproval(app);
    const id = await client.addUser('dora');
    await client.addGroup('Finance', [id]);
    const execution = await pending(app, bot);
    expect((await approve(app, execution.decisionId, { id })).body.status).toBe('approved');
    expect((await resume(app, execution.id)).status).toBe(200);
    return { app, bot, client, id, text: await decisionFileOf(app, execution), ...(await keyAndLog(app)) };
  });

  it('recomputes it, also with an export', async () => {
    const { text, publicKey, log } = stage;
    const [alone, compared] = [await verifyFile(text, publicKey), await verifyFile(text, publicKey, log)];
    for (const { output } of [alone, compared]) expect(output).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
  });

  it('recomputes a resume that was refused, as the directory and then somebody else had suspended the approver', async () => {
    const { app, bot, client, id } = stage;
    const execution = await pending(app, bot);
    expect((await approve(app, execution.decisionId, { id })).body.status).toBe('approved');
    await client.patch(`Users/${id}`, { op: 'replace', path: 'active', value: false });
    expect((await send(app, 'POST', `/api/v1/agents/${id}/suspend`, { body: { reason: 'Left.' } })).status).toBe(200);
    expect((await resume(app, execution.id)).body.error.reason).toBe('approval_insufficient');
    const text = await decisionFileOf(app, execution);
    const { publicKey, log } = await keyAndLog(app);
    for (const { output } of [await verifyFile(text, publicKey), await verifyFile(text, publicKey, log)])
      expect(output).toMatch(/\nRECOMPUTED: approved as recorded\n$/);
  });

  it.each<[string, (entry: Parsed) => unknown]>([
    ['more than roles', ({ audit }) => (audit.details.fields = ['roles', 'capabilities'])],
    ['somebody who is not from the directory', ({ state }) => delete state.directory],
  ])('finds that the service is said to have changed %s', async (_what, change) => {
    const { text, publicKey } = forge(stage.text, (file) => change(entryOf(file, 'agent.updated')));
    const { output } = await verifyFile(text, publicKey);
    expect(output).toContain('the service writes no agent.updated with the actor {"id":"service","type":"system"}');
    expect(output).toMatch(/\nDIFFERS: .*\n$/);
  });
});
