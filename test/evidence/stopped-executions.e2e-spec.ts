import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApp } from '../support/application/create-test-app';
import { createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { runVerifier } from '../support/processes/run-verifier';
import { createCompany, execute, lift, stop } from '../stops/support';
import { entryOf, forge } from './forged-file';

const EXECUTIONS = '/api/v1/executions';

describe('The decision file of what a stop refused', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    const company = await createCompany(app);
    const approval = { approvers: [{ subjects: ['agent:ann'] }] };
    await createPolicy(app, { effect: 'require_approval', actions: ['pay'], priority: 5, approval });
    return { app, company };
  });
  const folder = mkdtempSync(join(tmpdir(), 'stopped-evidence-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  async function fileOf(id: string): Promise<string> {
    return (await send(stage.app, 'GET', `${EXECUTIONS}/${id}/evidence`)).text;
  }

  /** The file of an execution that was denied, and its stop, which was lifted since. */
  async function denied(): Promise<{ readonly text: string; readonly stopId: string }> {
    const { app } = stage;
    const made = await stop(app, { agentId: 'bot', role: 'worker', actions: ['r*'] });
    await execute(app);
    await lift(app, made);
    const { data } = (await send(app, 'GET', `${EXECUTIONS}?order=desc&limit=1`)).body;
    return { text: await fileOf(data[0].id), stopId: made.id };
  }

  async function verify(text: string, ...words: readonly string[]): Promise<string> {
    const path = join(folder, 'stopped.evidence.json');
    writeFileSync(path, text);
    const key = (await send(stage.app, 'GET', '/api/v1/provenance/checkpoint')).body.publicKey;
    const keys = words.includes('--public-key') ? [] : ['--public-key', key];
    return (await runVerifier([path, ...words, ...keys])).output;
  }

  it('has the stop, and recomputes', async () => {
    const { text, stopId } = await denied();
    const actions = JSON.parse(text).entries.map(({ action }: Parsed) => action);
    expect(actions).toEqual(['agent.created', 'stop.created', 'execution.denied', 'stop.lifted']);
    const output = await verify(text);
    expect(output).toContain(`The stop ${stopId} of `);
    expect(output).toMatch(
      /covered the agent agt_\w+, the role worker and the actions r\*, for the reason "It runs wild\."/,
    );
    expect(output).toMatch(/So it was denied: stopped\.\n[^]*\nRECOMPUTED: denied as recorded\n$/);
  });

  it('recomputes a resume that was refused', async () => {
    const { app, company } = stage;
    const { id, decisionId } = (await execute(app, 'pay')).body;
    const approve = { body: {}, key: company.ann.key };
    expect((await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, approve)).status).toBe(200);
    const made = await stop(app, { actions: ['pay'] });
    const resume = (): ReturnType<typeof send> => send(app, 'POST', `${EXECUTIONS}/${id}/resume`);
    expect((await resume()).body.error.reason).toBe('stopped');
    const output = await verify(await fileOf(id));
    expect(output).toMatch(
      /So it was refused: stopped\. The approval stayed as it was\.[^]*RECOMPUTED: approved as recorded\n$/,
    );
    await lift(app, made);
    expect((await resume()).status).toBe(200);
    expect(await verify(await fileOf(id))).toMatch(/RECOMPUTED: authorized as recorded\n$/);
  });

  it.each<[string, (file: Parsed) => unknown, RegExp]>([
    [
      'is not there',
      (file) => (file.entries = file.entries.filter(({ action }: Parsed) => action !== 'stop.created')),
      /no entry of the stop/,
    ],
    ['was lifted', (file) => (entryOf(file, 'stop.created').state.status = 'lifted'), /does not decide this/],
    [
      'covers another agent',
      (file) => (entryOf(file, 'stop.created').state.agentId = 'agt_other'),
      /does not decide this/,
    ],
    ['covers another role', (file) => (entryOf(file, 'stop.created').state.role = 'clerk'), /does not decide this/],
    [
      'covers other actions',
      (file) => (entryOf(file, 'stop.created').state.actions = ['write']),
      /does not decide this/,
    ],
    ['says more than is known', (file) => (entryOf(file, 'stop.created').state.scope = 'x'), /a member scope/],
    ['is not named', (file) => delete entryOf(file, 'execution.denied').audit.details.stopId, /the deciding policies/],
  ])('differs where the stop %s', async (_what, change, difference) => {
    const forged = forge((await denied()).text, change);
    const output = await verify(forged.text, '--public-key', forged.publicKey);
    expect(output).toMatch(/\nDIFFERS: /);
    expect(output).toMatch(difference);
  });

  it('is held against all stops of an export', async () => {
    const { app } = stage;
    const allowed = (await execute(app)).body.id;
    const { text } = await denied();
    const path = join(folder, 'export.ndjson');
    writeFileSync(path, (await send(app, 'GET', '/api/v1/provenance/export')).text);
    expect(await verify(text, '--export', path)).toMatch(/RECOMPUTED: denied as recorded\n$/);
    expect(await verify(await fileOf(allowed), '--export', path)).toMatch(/RECOMPUTED: authorized as recorded\n$/);
  });
});
