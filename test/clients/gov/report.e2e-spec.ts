import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey, propose } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import type { ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, gov as runGov } from '../command-line';

describeOnSqlite('gov report', () => {
  let app: TestApp;
  let folder: string;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp();
    folder = mkdtempSync(join(tmpdir(), 'gov-report-'));
    const { id } = await createAgent(app, { name: 'bot', capabilities: ['send'], team: 'support' });
    await createPolicy(app, { name: 'may | send <b> @all \u202e', actions: ['send'] });
    await createPolicy(app, { name: 'idle', actions: ['nothing'] });
    for (const action of ['send', 'send', 'unknown']) {
      const body = { action, resourceType: 'mail', resourceId: '1' };
      await send(app, 'POST', '/api/v1/agents/bot/execute', { body });
    }
    await send(app, 'POST', `/api/v1/decisions/${(await propose(app, id)).id}/reject`, { body: {} });
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  const gov = (words: readonly string[], key = API_KEY): Promise<ProgramRun> => {
    const environment = { XDG_CONFIG_HOME: folder, GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key };
    return runGov(['report', ...words], { environment, folder });
  };

  it('shows what the service has counted', async () => {
    const { output, exitCode } = await gov(['--bucket', 'week']);
    expect(exitCode).toBe(0);
    expect(output).toMatch(/AGENT +TEAM +ALLOWED +ASKED FOR APPROVAL +DENIED\nbot +support +2 +0 +1\n/);
    expect(output).toMatch(/keys without a name +0 +1 +1\n/);
    expect(output).toMatch(/POLICY +VERSION\nidle +1\.0\n/);
    expect(output).toMatch(/made in an emergency +0\nemergencies that nobody has reviewed +0\n/);
    const json = JSON.parse((await gov(['--json'])).output);
    const { body } = await send(app, 'GET', '/api/v1/reports/oversight');
    expect(json.approvals).toEqual(body.approvals);
    expect(json.requests).toHaveLength(31);
  });

  it('leaves out rows of zeros, and says how many', async () => {
    const requests = /Requests\nFROM [^\n]*\n20\S+ +2 +0 +1 +0 +0 +0\n30 rows of zeros left out\.\n\n/;
    expect((await gov([])).output).toMatch(requests);
    const { output } = await gov(['--markdown']);
    expect(output).toMatch(/---:\|\n\| 20\S+ \| 2 \| 0 \| 1 \| 0 \| 0 \| 0 \|\n\n30 rows of zeros left out\.\n\n##/);
    const none = await gov(['--from', '2020-01-01', '--to', '2020-01-02']);
    expect(none.output).toContain('Requests\nNothing.\n1 row of zeros left out.\n');
  });

  it('writes a document in which no name does anything', async () => {
    const today = new Date().toISOString().slice(0, 10);
    const { output } = await gov(['--from', today, '--markdown']);
    expect(output).toContain(`# Oversight report\n\nFrom ${today}T00:00:00.000Z to `);
    expect(output).toContain('## Refused, and why\n\nEU AI Act, Articles 12, 26(5); OWASP AISVS 9.6, 9.7.\n');
    expect(output).toMatch(/\| Reason \| Refusals \|\n\|---\|---:\|\n\| (capability|no&#95;capability)[^|]*\| 1 \|/);
    expect(output).toContain('| may &#124; send &#60;b&#62; &#64;all &#92;u202e | 1.0 | 2 |');
    expect(output).toMatch(/## Checkpoint\n[^#]*\n {4}agent-governance-service\n {4}\d+\n/);
  });

  it('says what is wrong', async () => {
    const reversed = await gov(['--from', '2026-02-02', '--to', '2026-02-01']);
    expect([reversed.exitCode, reversed.errors]).toEqual([1, expect.stringContaining('must not be later than to')]);
    const many = await gov(['--from', '2020-01-01', '--bucket', 'hour']);
    expect([many.exitCode, many.errors]).toEqual([1, expect.stringContaining('400 buckets')]);
    const { secret } = await issueKey(app, { scopes: ['read'] });
    expect((await gov([], secret)).errors).toContain('audit');
  });
});
