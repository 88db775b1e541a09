import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask, company, EXECUTIONS, order } from '../approvals/support';
import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { erase } from '../support/application/erase';
import { send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { runVerifier } from '../support/processes/run-verifier';

describe('What the verifier notes about a decision file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-notes-'));
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    await createPolicy(app, { actions: ['send'] });
    return { app, people: await company(app) };
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** The paths of a file of something that was done, and of exports before and after its contents were erased. */
  async function erased(): Promise<{ id: string; file: string; early: string; late: string; key: string }> {
    const { app, people } = stage;
    const paths = { file: join(folder, 'a.evidence.json'), early: join(folder, 'early'), late: join(folder, 'late') };
    const exported = async (path: string): Promise<void> =>
      writeFileSync(path, (await send(app, 'GET', '/api/v1/provenance/export')).text);
    await exported(paths.early);
    const response = await ask(app, people.bot, { action: 'send', ...order() });
    const id: string = response.body.id;
    await send(app, 'POST', `${EXECUTIONS}/${id}/result`, { body: { outcome: 'executed', result: null } });
    writeFileSync(paths.file, (await send(app, 'GET', `${EXECUTIONS}/${id}/evidence`)).text);
    await erase(app, { type: 'execution', id });
    await exported(paths.late);
    return { id, ...paths, key: (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body.publicKey };
  }

  it('is what the log has about it later, such as that its contents were erased', async () => {
    const { file, early, late, key } = await erased();
    const { exitCode, output } = await runVerifier([file, '--public-key', key, '--export', late]);
    expect(output).toMatch(/NOTE After the \d+ entries .* more about this decision: (\d+) execution\.erased\./);
    expect(output).toMatch(/NOTE Its contents were erased by entry \d+: this file holds what was to be forgotten\./);
    expect(exitCode).toBe(0);
    const older = await runVerifier([file, '--public-key', key, '--export', early]);
    expect([older.exitCode, older.output]).toEqual([1, expect.stringContaining('or it was taken earlier')]);
  });

  it.each(['send ', '\u3000send', 'se\u200bnd', 'se\tnd'])(
    'is nothing of what no agent is capable of: %j',
    async (action) => {
      const { app } = stage;
      await createAgent(app, { name: `able to ${JSON.stringify(action)}`.replace(/\W/g, '-'), capabilities: ['*'] });
      const [{ id: agentId = '' } = {}] = (await send(app, 'GET', '/api/v1/agents?order=desc&limit=1')).body.data;
      const body = { action, resourceType: 'mail', resourceId: 'mails/1', parameters: {} };
      const { status } = await send(app, 'POST', `/api/v1/agents/${agentId}/execute`, { body });
      expect(status).toBe(403);
      const [denied] = (await send(app, 'GET', `${EXECUTIONS}?agentId=${agentId}`)).body.data;
      const file = join(folder, 'incapable.evidence.json');
      writeFileSync(file, (await send(app, 'GET', `${EXECUTIONS}/${denied.id}/evidence`)).text);
      const { publicKey } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
      const { output } = await runVerifier([file, '--public-key', publicKey]);
      expect(output).toMatch(/\nRECOMPUTED: denied as recorded\n$/);
    },
  );

  it('is that the file is named after another execution', async () => {
    const { id, file, key } = await erased();
    const other = 'exe_01M7W000000000000000000001';
    for (const [name, notes] of [
      [id, false],
      [other, true],
    ] as const) {
      const path = join(folder, `${name}.evidence.json`);
      copyFileSync(file, path);
      const { exitCode, output } = await runVerifier([path, '--public-key', key]);
      expect(exitCode).toBe(0);
      expect(output.includes(`NOTE The file is named after ${other}, and is of ${id}.`)).toBe(notes);
    }
  });
});
