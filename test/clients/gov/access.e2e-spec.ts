import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import type { ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, gov as runGov } from '../command-line';

describeOnSqlite('gov access', () => {
  let app: TestApp;
  let folder: string;
  let start: number;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp();
    folder = mkdtempSync(join(tmpdir(), 'gov-access-'));
    await createAgent(app, { name: 'bot', capabilities: ['pay', 'send-mail'] });
    start = (await send(app, 'GET', '/api/v1/audit?limit=1')).body.data[0].sequence;
    const conditions = [{ parameter: '/amount', op: 'lte', value: 50 }];
    const limits = [{ max: 9, per: 'day', by: 'agent' }];
    await createPolicy(app, { name: 'may-pay', actions: ['pay'], resources: ['bills/*'], conditions, limits });
    const approval = { approvers: [{ subjects: ['role:desk'], approvals: 1 }] };
    await createPolicy(app, { name: 'mails-ask', effect: 'require_approval', actions: ['send-*'], approval });
    await createPolicy(app, { name: 'never', effect: 'deny', actions: ['pay'], resources: ['bills/closed/*'] });
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  const gov = (...words: string[]): Promise<ProgramRun> => {
    const environment = { XDG_CONFIG_HOME: folder, GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY };
    return runGov(['access', ...words], { environment, folder });
  };

  it('says in words what an agent may do, and what that depends on', async () => {
    const { output, exitCode } = await gov('bot');
    expect(exitCode).toBe(0);
    expect(output).toMatch(/^What bot may do\n/);
    expect(output).toMatch(/bot may pay on bills\/\*.* \(except bills\/closed\/\*/);
    expect(output).toMatch(/bot needs approval to send-mail.*: approval by 1 of role:desk \(mails-ask 1\.0\)/);
    expect(output).toContain('may-pay 1.0: where /amount lte 50; at most 9 executions a day, by agent');
    expect(output).toContain('mails-ask 1.0: approved by 1 of role:desk');
    expect(output).toContain('Nobody has reviewed this.');
  });

  it('says it as of then, and what has come and gone since', async () => {
    const past = await gov('bot', '--as-of', String(start));
    expect(past.output).toMatch(/^What bot may do, as of \d+\n {2}Nothing\.\n/);
    const { output } = await gov('bot', '--since', String(start));
    expect(output).toMatch(/What has come and gone:\n[^]*bot may pay on bills/);
    const head = (await send(app, 'GET', '/api/v1/audit?limit=1')).body.data[0].sequence;
    expect((await gov('bot', '--since', String(head))).output).toMatch(/What has come and gone:\n {2}Nothing\.\n/);
  });

  it('says the team and its policies of then of an agent that was moved', async () => {
    const { id } = await createAgent(app, { name: 'mover', capabilities: ['pack'], team: 'sales' });
    const action = { actions: ['pack'] };
    await createPolicy(app, { name: 'sales-may-pack', ...action, resources: ['sold/*'], team: 'sales' });
    await createPolicy(app, { name: 'support-may-pack', ...action, resources: ['returned/*'], team: 'support' });
    const { sequence } = (await send(app, 'GET', '/api/v1/audit?limit=1')).body.data[0];
    expect((await gov('mover')).output).toMatch(/^What mover may do\n {2}It is in the team sales\.\n/);
    await send(app, 'PATCH', `/api/v1/agents/${id}`, { body: { team: 'support' } });
    const now = await gov('mover');
    expect(now.output).toMatch(/^What mover may do\n {2}It is in the team support\.\n/);
    expect([now.output.includes('support-may-pack'), now.output.includes('sales-may-pack')]).toEqual([true, false]);
    const then = await gov('mover', '--as-of', String(sequence));
    expect(then.output).toMatch(/\n {2}It is in the team sales\.\n/);
    expect([then.output.includes('support-may-pack'), then.output.includes('sales-may-pack')]).toEqual([false, true]);
    const { output } = await gov('mover', '--since', String(sequence));
    expect(output).toContain(`It is in the team support; in the team sales at ${sequence}.`);
    const [, changes = ''] = output.split('What has come and gone:');
    expect(changes).toMatch(/may pack on returned\/\*.*\(support-may-pack 1\.0\)/);
    expect(changes).toMatch(/may not pack on sold\/\*.*\(without sales-may-pack 1\.0\)/);
    await send(app, 'PATCH', `/api/v1/agents/${id}`, { body: { team: null } });
    const left = await gov('mover', '--since', String(sequence));
    expect(left.output).toContain(`It is in no team; in the team sales at ${sequence}.`);
  });

  it('says who reviewed it, as Markdown and as JSON', async () => {
    const { id } = await createAgent(app, { name: 'ann', kind: 'human' });
    const { secret } = await issueKey(app, { scopes: ['review'], agentId: id });
    const { rules, revision } = (await send(app, 'GET', '/api/v1/agents/bot/access')).body;
    await send(app, 'POST', '/api/v1/agents/bot/access/review', { key: secret, body: { rules, revision } });
    const { output } = await gov('bot', '--markdown');
    expect(output).toMatch(/^### What bot may do\n\n```diff\n/);
    expect(output).toMatch(new RegExp(`Last reviewed by ${id} \\(ann\\) at 20`));
    expect(JSON.parse((await gov('bot', '--json')).output)).toMatchObject({ reviewedBy: id, complete: true });
    expect(await gov('nobody')).toMatchObject({ exitCode: 1 });
  });
});
