import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask, company, type Company, execution, pending, requireApproval } from '../../approvals/support';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import type { ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, gov as runGov } from '../command-line';

describeOnSqlite('gov, on grants', () => {
  let app: TestApp;
  let people: Company;
  let folder: string;
  const keys = new Map<string, string>();

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gov-grants-'));
    await buildCommandLine();
    app = await createTestApp();
    people = await company(app);
    await send(app, 'PATCH', `/api/v1/agents/${people.bot.id}`, { body: { capabilities: ['*'] } });
    const finance = { subjects: ['role:finance'] };
    await requireApproval(app, { grant: { for: 'PT2H', uses: 5 } }, { name: 'refunds', version: '1' });
    await createPolicy(app, {
      ...{ name: 'both', effect: 'require_approval', actions: ['send'] },
      approval: { approvers: [{ ...finance, approvals: 2 }], grant: { for: 'P1D', wider: true } },
    });
    for (const { id, name } of [people.ann, people.ben])
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

  it('gives one, shows it, says when it allows something, and takes it back', async () => {
    const place = { resourceId: 'orders/1', parameters: { amount: 5 } };
    const { decisionId } = await pending(app, people.bot, place);
    const allowed = 'for PT2H at most, 5 times at most: --for PT2H';
    expect((await gov(['inbox'], 'ann')).output).toContain(`may be given ${allowed}`);
    expect((await gov(['show', String(decisionId)], 'ann')).output).toMatch(new RegExp(`may be given +${allowed}`));
    const words = ['approve', String(decisionId), '--yes', '--for', 'PT1H', '--uses', '2'];
    const approvalRun = await gov(words, 'ann');
    const [grant] = (await send(app, 'GET', `/api/v1/grants?decisionId=${String(decisionId)}`)).body.data;
    expect(approvalRun.output).toContain(
      `It may be done until ${grant.until}, by ${grant.id}: refund on payment/orders/1, with the same parameters.`,
    );
    const explainWords = ['explain', 'bot', 'refund', 'payment', 'orders/1', '--parameters', '{"amount":5}'];
    expect((await gov(explainWords)).output).toMatch(new RegExp(`^allow\\n[^]*by the grant ${grant.id}`));
    const list = await gov(['grants', '--agent', 'bot', '--status', 'active'], 'ann');
    expect(list.output).toMatch(new RegExp(`${grant.id} +active +${people.bot.id} \\(bot\\) +0 of 2 `));
    expect(JSON.parse((await gov(['show', grant.id])).output)).toMatchObject({ id: grant.id, uses: 2 });
    const revoked = await gov(['grants', 'revoke', grant.id, '--reason', 'Enough.'], 'ann');
    expect(revoked).toMatchObject({ exitCode: 0, output: `${grant.id} is revoked.\n` });
    expect((await gov(['grants', '--status', 'active'])).output).toBe('Nothing.\n');
  });

  it('shows what the first reviewer gave, so that the second may give the same', async () => {
    const { body } = await ask(app, people.bot, { action: 'send', resourceType: 'mail', resourceId: 'a/1' });
    const decisionId = String(body.decisionId);
    const same = ['--for', 'PT3H', '--uses', '3', '--resources', 'a/*, b/*', '--any-parameters'];
    await gov(['approve', decisionId, '--yes', ...same], 'ann');
    const line = `--for PT3H --uses 3 --resources 'a/*,b/*' --any-parameters`;
    expect((await gov(['show', decisionId], 'ben')).output).toContain(line);
    expect((await gov(['inbox'], 'ben')).output).toContain(`ann gave ${line}`);
    const second = await gov(['approve', decisionId, '--yes', ...same], 'ben');
    expect(second.output).toContain('send on mail: a/*, b/*, with any parameters.');
    const other = await ask(app, people.bot, { action: 'send', resourceType: 'mail', resourceId: 'c/1' });
    const grantOptions = ['--for', 'PT3H', '--resources', 'c/*'];
    await gov(['approve', String(other.body.decisionId), '--yes', ...grantOptions], 'ann');
    const alone = await gov(['approve', String(other.body.decisionId), '--yes'], 'ben');
    expect(alone.output).toMatch(/is approved\.\n$/);
    const none = await gov(['approve', decisionId, '--uses', '2'], 'ann');
    expect(none).toMatchObject({ exitCode: 1, errors: expect.stringContaining('need --for') });
  });

  it('rejects, and says what would be approved instead', async () => {
    const { id, decisionId } = await pending(app, people.bot, { resourceId: 'orders/2', parameters: { amount: 500 } });
    const rejected = await gov(['reject', String(decisionId), '--yes', '--instead', '{"amount": 50}'], 'ann');
    const settled = await gov(['show', String(decisionId)], 'ben');
    expect(settled.output).toMatch(/^ {2}rejected by +ann\n {2}instead +\{\n +"amount": 50\n/m);
    const { instead } = await execution(app, id);
    expect(instead).toEqual({ parameters: { amount: 50 }, grantId: expect.stringMatching(/^grt_/) });
    expect(rejected.output).toContain(`by ${String(instead?.grantId)}: refund on payment/orders/2`);
    const two = await ask(app, people.bot, { action: 'send', resourceId: 'd/1', parameters: { to: 'x' } });
    const hint = await gov(['reject', String(two.body.decisionId), '--yes', '--instead', '{"to": "y"}'], 'ann');
    expect(hint.output).toContain('The parameters are a hint: the agent has to request the action with them.');
    const faulty = await gov(['reject', String(decisionId), '--yes', '--instead', '[1]'], 'ann');
    expect(faulty).toMatchObject({ exitCode: 1, errors: expect.stringContaining('Expected a JSON object') });
  });

  it('says which limits are used up without which a policy would have allowed it', async () => {
    const limits = [{ max: 10, of: '/amount', per: 'day', by: 'agent' }];
    const rules = { actions: ['pay'], resources: ['*'] };
    await createPolicy(app, { ...rules, name: 'alone', version: '1', effect: 'allow', priority: 1, limits });
    await createPolicy(app, { ...rules, name: 'asked', effect: 'require_approval', approval: {} });
    const { body } = await ask(app, people.bot, { action: 'pay', parameters: { amount: 11 } });
    const { output } = await gov(['show', String(body.decisionId)], 'ann');
    expect(output).toMatch(/used up +alone 1 would allow it, but 0 of 10 are used and this request needs 11/);
  });

  it('keeps in files what a policy allows to give, and shows a change of it', async () => {
    const policies = join(folder, 'policies');
    await gov(['policies', 'pull', policies]);
    expect(await gov(['policies', 'plan', policies])).toMatchObject({ exitCode: 0 });
    const path = join(policies, 'both.yaml');
    const text = readFileSync(path, 'utf8');
    expect(text).toMatch(/ {6}grant:\n {8}for: P1D\n {8}wider: true\n/);
    expect(readFileSync(join(policies, 'refunds.yaml'), 'utf8')).toMatch(/grant:\n {8}for: PT2H\n {8}uses: 5\n/);
    writeFileSync(path, text.replace('for: P1D', 'for: P2D').replace(/version: .*/, 'version: "9"'));
    const plan = await gov(['policies', 'plan', policies]);
    expect(plan).toMatchObject({ exitCode: 2, output: expect.stringContaining('both') });
    expect(await gov(['policies', 'apply', policies, '--yes'])).toMatchObject({ exitCode: 0 });
    const { data } = (await send(app, 'GET', '/api/v1/policies?name=both&status=active')).body;
    expect(data[0].approval.grant).toEqual({ for: 'P2D', uses: null, wider: true });
    writeFileSync(path, text.replace('for: P1D', 'for: 3').replace('wider: true', 'width: true'));
    const lint = await gov(['policies', 'lint', policies]);
    expect(lint.exitCode).toBe(1);
    const lintText = lint.output + lint.errors;
    for (const fault of ['grant.width is not known', 'grant.for must be text']) expect(lintText).toContain(fault);
  });
});
