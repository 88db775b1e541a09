import { spawnSync } from 'node:child_process';
import { approved, company, type Company, EXECUTIONS, pending, requireApproval, resume } from '../../approvals/support';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { addClaim, auditOf, createEntity, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import { run, type ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, gov as runGov, MAIN } from '../command-line';

const hasScript = String(spawnSync('script', ['--version']).stdout).includes('util-linux');
const REASON = ['--reason', 'Request 7'];
const ERASURES = '/api/v1/erasures';

describeOnSqlite('gov erase', () => {
  let app: TestApp;
  let people: Company;
  let environment: NodeJS.ProcessEnv;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    people = await company(app);
    await requireApproval(app);
    environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY };
  });
  afterAll(() => app.close());

  const gov = (...words: readonly string[]): Promise<ProgramRun> => runGov(words, { environment });

  /** Runs it on a terminal where somebody types `input`. */
  function onTerminal(words: readonly string[], input: string): Promise<ProgramRun> {
    const line = [process.execPath, MAIN, ...words].map((word) => `'${word}'`).join(' ');
    return run('script', ['-qec', line, '/dev/null'], { environment, input });
  }

  /** An execution that is settled, with its decision. */
  async function settled(resourceId: string): Promise<{ readonly id: string; readonly decisionId: string }> {
    const { id, decisionId } = await approved(app, people, { resourceId });
    await resume(app, id);
    await send(app, 'POST', `${EXECUTIONS}/${id}/result`, { body: { outcome: 'executed' } });
    return { id, decisionId: String(decisionId) };
  }

  async function erasures(): Promise<number> {
    return (await send(app, 'GET', ERASURES)).body.total;
  }

  (hasScript ? it : it.skip)('shows on a terminal all that goes, and asks before it does', async () => {
    const { id, decisionId } = await settled('orders/7');
    const entries = (await auditOf(app, id)).length + (await auditOf(app, decisionId)).length;
    const words = ['erase', 'decision', decisionId, '--reason', 'Request_7'];
    const no = await onTerminal(words, 'n\n');
    expect(no.output).toMatch(
      new RegExp(
        `execution +${id} [^]*bot: refund on payment/orders/7, executed[^]*decision +${decisionId} [^]*approved`,
      ),
    );
    expect(no.output).toContain(`${entries} entries lose their states`);
    expect([no.exitCode, no.output]).toEqual([1, expect.stringMatching(/Erase\? [^]*Nothing was erased\./)]);
    expect(await erasures()).toBe(0);
    const yes = await onTerminal(words, 'y\n');
    expect([yes.exitCode, yes.output]).toEqual([
      0,
      expect.stringMatching(/ers_\w+ was complete at .*: \d+ entries and 2 records lost their contents\./),
    ]);
    expect((await send(app, 'GET', `${EXECUTIONS}/${id}`)).body).toMatchObject({ erased: true, parameters: {} });
    const [erasure] = (await send(app, 'GET', ERASURES)).body.data;
    expect(erasure).toMatchObject({ subjects: [{ type: 'decision', id: decisionId }], reason: 'Request_7', entries });
  });

  it('erases nothing without a terminal, unless it is told --yes', async () => {
    const { id } = await settled('orders/8');
    const before = await erasures();
    const refused = await gov('erase', 'execution', id, ...REASON);
    expect([refused.exitCode, refused.errors]).toEqual([
      1,
      'Nothing was erased: without a terminal, --yes has to be given.\n',
    ]);
    expect(await erasures()).toBe(before);
    const { exitCode, output, errors } = await gov('erase', 'execution', id, ...REASON, '--yes', '--json');
    const erasure = JSON.parse(output);
    expect([exitCode, errors]).toEqual([0, expect.stringContaining(id)]);
    expect(erasure).toMatchObject({ completedAt: expect.any(String), records: 2, reason: 'Request 7' });
    expect(erasure).toEqual((await send(app, 'GET', `${ERASURES}/${erasure.id}`)).body);
  });

  it('asks nothing where nothing is left, and says which erasure took it', async () => {
    const { id, decisionId } = await settled('orders/11');
    const erasure = JSON.parse((await gov('erase', 'execution', id, ...REASON, '--yes', '--json')).output);
    const already = (type: string, of: string): string =>
      `The ${type} ${of} is erased already, by ${erasure.id}: nothing is left to erase.\n`;
    const before = await erasures();
    for (const [type, of] of [
      ['execution', id],
      ['decision', decisionId],
    ] as const) {
      const again = await gov('erase', type, of, ...REASON);
      expect(again).toMatchObject({ exitCode: 0, output: already(type, of), errors: '' });
    }
    const asJson = await gov('erase', 'execution', id, ...REASON, '--json');
    expect([asJson.exitCode, JSON.parse(asJson.output), asJson.errors]).toEqual([0, erasure, already('execution', id)]);
    expect(await erasures()).toBe(before);
    const showRun = await gov('show', decisionId);
    expect(showRun.output).toMatch(
      /\n {2}erased +what it was about, and what its reviewers wrote\n {2}action +refund\n/,
    );
    expect(showRun.output).not.toMatch(/resource|parameters/);
  });

  it('erases an entity with its claims, and one that is deleted already', async () => {
    const { id } = await createEntity(app, { type: 'supplier', name: 'Erika\u001b[2K' });
    await addClaim(app, id, { predicate: 'iban', value: 'DE02' });
    const { exitCode, output } = await gov('erase', 'entity', id, ...REASON, '--yes');
    expect([exitCode, output]).toEqual([0, expect.stringContaining('supplier Erika\\u001b[2K and 1 claim,')]);
    expect(output).toMatch(/^What this record contains [^]*\n3 entries lose their [^]*: 3 entries and 1 record lost/);
    const again = await gov('erase', 'entity', id, ...REASON);
    expect(again).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining(`The entity ${id} is erased already, by`),
    });
    const other = await createEntity(app, { type: 'supplier', name: 'Gone' });
    await send(app, 'DELETE', `/api/v1/entities/${other.id}`);
    const lone = await createEntity(app, { type: 'supplier', name: 'Lone' });
    expect((await gov('erase', 'entity', lone.id, ...REASON, '--yes')).output).toContain(
      'supplier Lone, which is deleted\n',
    );
    const deleted = await gov('erase', 'entity', other.id, ...REASON, '--yes');
    expect(deleted).toMatchObject({ exitCode: 0, output: expect.stringContaining('is deleted already') });
  });

  it('says why the service refuses it: what is open, or too young', async () => {
    const open = await pending(app, people.bot, { resourceId: 'orders/9' });
    const refused = await gov('erase', 'execution', open.id, ...REASON, '--yes');
    const why = `The execution ${open.id} is pending_approval; only what is settled can be erased.`;
    expect([refused.exitCode, refused.errors]).toEqual([1, expect.stringContaining(why)]);
    expect((await send(app, 'GET', `${EXECUTIONS}/${open.id}`)).body).not.toHaveProperty('erased');
    const keeping = await createTestApp({ environment: { RETAIN_AT_LEAST: 'P1D' } });
    const { id } = await createEntity(keeping);
    const own = { environment: { ...environment, GOVERNANCE_URL: keeping.url } };
    const young = await runGov(['erase', 'entity', id, ...REASON, '--yes'], own);
    expect([young.exitCode, young.errors]).toEqual([1, expect.stringContaining('RETAIN_AT_LEAST keeps it until')]);
    await keeping.close();
  });

  it('refuses before it asks: what is unknown, or not the business of the key', async () => {
    const none = await gov('erase', 'execution', 'exe_none', ...REASON, '--yes');
    expect(none).toMatchObject({ exitCode: 1, errors: expect.stringContaining('not found') });
    const nobody = await gov('erase', 'entity', 'ent_none', ...REASON, '--yes');
    expect(nobody).toMatchObject({ exitCode: 1, output: '', errors: expect.stringContaining('not found') });
    const unknown = await gov('erase', 'agent', people.bot.id, ...REASON, '--yes');
    expect(unknown).toMatchObject({ exitCode: 1, errors: expect.stringContaining('entity, decision, execution') });
    expect(await gov('erase', 'execution', 'exe_none', '--yes')).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('needs --reason <text>'),
    });
    const { secret } = await issueKey(app, { name: 'auditor', scopes: ['read', 'audit'] });
    const { id } = await settled('orders/10');
    const own = { environment: { ...environment, GOVERNANCE_API_KEY: secret } };
    expect(await runGov(['erase', 'execution', id, ...REASON, '--yes'], own)).toEqual({
      exitCode: 1,
      output: '',
      errors: 'Nothing was erased: the key lacks the scope admin.\n',
    });
    expect((await send(app, 'GET', `${EXECUTIONS}/${id}`)).body).not.toHaveProperty('erased');
  });

  it('shows and counts the grant that a decision gave', async () => {
    await requireApproval(app, { grant: { for: 'PT1H' } }, { name: 'granting', actions: ['send'] });
    const { id, decisionId } = await pending(app, people.bot, { action: 'send', resourceId: 'mails/1' });
    const body = { approverId: people.ann.id, grant: { for: 'PT1H' } };
    await send(app, 'POST', `/api/v1/decisions/${String(decisionId)}/approve`, { body });
    await resume(app, id);
    await send(app, 'POST', `${EXECUTIONS}/${id}/result`, { body: { outcome: 'executed' } });
    const { output } = await gov('erase', 'decision', String(decisionId), ...REASON, '--yes');
    expect(output).toMatch(/\n {2}grant {6}grt_\w+ {2}send on \w+\/mails\/1, with the same parameters, active\n/);
    expect(output).toMatch(/\n(\d+) entries lose their [^]*: \1 entries and 3 records lost their contents\./);
  });
});
