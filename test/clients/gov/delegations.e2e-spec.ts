import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { company, type Company, pending, requireApproval } from '../../approvals/support';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { issueKey } from '../../support/application/factories';
import { describeOnSqlite } from '../../support/database/database-kind';
import type { ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, gov as runGov } from '../command-line';

describeOnSqlite('gov, on delegations', () => {
  let app: TestApp;
  let people: Company;
  let folder: string;
  const keys = new Map<string, string>();

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gov-delegations-'));
    await buildCommandLine();
    app = await createTestApp();
    people = await company(app);
    await requireApproval(app);
    for (const { id, name } of [people.ann, people.eve])
      keys.set(name, (await issueKey(app, { name, scopes: ['review', 'read'], agentId: id })).secret);
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  const gov = (words: readonly string[], who?: string): Promise<ProgramRun> =>
    runGov(words, {
      environment: { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: (who && keys.get(who)) ?? API_KEY },
      folder,
    });

  it('makes one, lists it on both sides, reviews by it, and ends it', async () => {
    const made = await gov(['delegate', 'eve', '--until', 'P7D'], 'ann');
    const [id = ''] = /dlg_\w+/.exec(made.output) ?? [];
    expect(made.output).toMatch(/^dlg_\w+ is active, from \S+ until \S+\.\n$/);
    for (const words of [['delegations'], ['delegations', '--of', 'ann']])
      expect((await gov(words, 'ann')).output).toMatch(new RegExp(`${id} +active +${people.ann.id} \\(ann\\)`));
    expect((await gov(['delegations', '--received'], 'eve')).output).toContain(id);
    const { decisionId } = await pending(app, people.bot);
    const approval = ['approve', String(decisionId), '--yes'];
    expect((await gov(['inbox'], 'eve')).output).toContain('you can approve it in the place of ann: gov approve');
    const together = await gov(['inbox', '--approve', '--yes'], 'eve');
    expect(together).toMatchObject({ output: '', errors: expect.stringContaining('by itself: gov approve') });
    expect((await gov(approval, 'eve')).exitCode).toBe(1);
    expect((await gov([...approval, '--delegation', id], 'eve')).output).toContain('is approved.');
    expect((await gov(['show', String(decisionId)], 'ann')).output).toContain(`by the delegation ${id}`);
    expect((await gov(['delegations', 'end', id], 'ann')).output).toBe(`${id} is ended.\n`);
    const unbound = await gov(['delegations']);
    expect([unbound.exitCode, unbound.errors]).toEqual([1, expect.stringContaining('name the person with --of')]);
  });
});
