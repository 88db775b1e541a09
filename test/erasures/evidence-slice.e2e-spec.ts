import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { approve, ask, company, pending, requireApproval } from '../approvals/support';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createPolicy } from '../support/application/factories';
import { erase } from '../support/application/erase';
import { send } from '../support/application/send';
import { runVerifier, type VerifierRun } from '../support/processes/run-verifier';

describe('What was decided', () => {
  let app: TestApp;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'governance-evidence-'));
    app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
  });
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });

  const get = (path: string): ReturnType<typeof send> => send(app, 'GET', `/api/v1${path}`);
  const verified = (file: string, key: string): Promise<VerifierRun> => runVerifier([file, '--public-key', key]);

  async function saved(name: string, path: string): Promise<string> {
    const file = join(folder, name);
    writeFileSync(file, (await get(path)).text);
    return file;
  }

  it('is recomputed from its file, and what it contained can be forgotten without breaking a proof', async () => {
    const { bot, ann } = await company(app);
    await requireApproval(app);
    await createPolicy(app, { effect: 'allow', actions: ['send'] });
    const { id, decisionId } = await pending(app, bot, { parameters: { amount: 80, for: 'Erika Mustermann' } });
    expect((await approve(app, decisionId, ann)).status).toBe(200);
    expect((await send(app, 'POST', `/api/v1/executions/${id}/resume`)).status).toBe(200);
    await send(app, 'POST', `/api/v1/executions/${id}/result`, { body: { outcome: 'executed' } });
    const other = (await ask(app, bot, { action: 'send' })).body.id as string;

    const { publicKey } = (await get('/provenance/checkpoint')).body;
    const file = await saved('before.evidence.json', `/executions/${id}/evidence`);
    const before = await saved('before.ndjson', '/provenance/export');
    const recomputed = await verified(file, publicKey);
    expect(recomputed).toMatchObject({ exitCode: 0, errors: '' });
    expect(recomputed.output).toMatch(/\nRECOMPUTED: \w+ as recorded\n$/);

    await erase(app, { type: 'execution', id });

    // An earlier file still verifies, and the chain goes on from it.
    expect(await verified(file, publicKey)).toEqual(recomputed);
    expect(await verified(before, publicKey)).toMatchObject({ exitCode: 0 });
    const after = await saved('after.ndjson', '/provenance/export');
    expect(await verified(after, publicKey)).toMatchObject({ exitCode: 0, output: expect.stringContaining('VALID') });
    const verdict = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(verdict.body).toMatchObject({ valid: true, invalidHashes: 0, invalidRecords: 0 });
    expect(verdict.body.erased).toBeGreaterThan(0);
    expect((await get('/provenance/export')).text).not.toContain('Mustermann');
    expect((await get(`/executions/${id}/evidence`)).body.error.code).toBe('CONTENT_ERASED');
    const untouched = await saved('other.evidence.json', `/executions/${other}/evidence`);
    expect(await verified(untouched, publicKey)).toMatchObject({ exitCode: 0 });
  });
});
