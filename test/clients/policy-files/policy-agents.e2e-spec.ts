import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { createAgent, issueKey } from '../../support/application/factories';
import { type Parsed, send } from '../../support/application/send';
import { keepSecret } from '../../support/application/secret-watch';
import { codeBlocks, readDocument, section } from '../../support/documents/markdown';
import type { ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, gov } from '../command-line';

const AGENTS = `agents:
  - { name: refund-bot, roles: [support], capabilities: ["refund-*"], description: Pays back. }
  - { name: ann, kind: human, roles: [finance] }
`;
const POLICIES = `policies:
  - name: refunds
    version: "1"
    effect: allow
    subjects: ["role:support"]
    actions: [refund-order]
    resources: ["orders/*"]
  - name: by-name
    version: "1"
    effect: deny
    subjects: [refund-bot]
    actions: [refund-order]
    resources: ["orders/9"]
tests:
  - { agent: refund-bot, action: refund-order, resourceType: order, resourceId: orders/1, expect: allow }
  - { agent: refund-bot, action: refund-order, resourceType: order, resourceId: orders/9, expect: deny, by: by-name }
  - { agent: refund-bot, action: close-order, resourceType: order, resourceId: orders/1, expect: EXPECTED }
`;

describeOnSqlite('Agents in files', () => {
  let app: TestApp;
  let folder: string;

  beforeAll(async () => {
    await buildCommandLine();
  });
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gov-agents-'));
    mkdirSync(join(folder, 'policies'));
    app = await createTestApp();
    await createAgent(app, { name: 'other', roles: ['support'], capabilities: ['refund-order'] });
  });
  afterEach(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  function policies(words: readonly string[], key: string = API_KEY): Promise<ProgramRun> {
    const environment = { XDG_CONFIG_HOME: folder, GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key };
    return gov(['policies', ...words], { environment, folder });
  }

  function write(name: string, text: string): void {
    writeFileSync(join(folder, 'policies', name), text);
  }

  async function agents(): Promise<Parsed[]> {
    return (await send(app, 'GET', '/api/v1/agents')).body.data;
  }

  /** The actions of the entries that have the time of the last one. */
  async function lastCommit(): Promise<string[]> {
    const { body } = await send(app, 'GET', '/api/v1/audit?limit=10');
    const [last] = body.data;
    return body.data.flatMap(({ timestamp, action }: Parsed) => (timestamp === last.timestamp ? [action] : []));
  }

  it('are registered and changed in one plan with the policies, and otherwise left alone', async () => {
    write('agents.yaml', AGENTS);
    write('policies.yaml', POLICIES.replace('EXPECTED', 'deny'));
    const planned = await policies(['plan']);
    expect(planned).toMatchObject({ exitCode: 2, errors: '' });
    expect(planned.output).toContain('Policies: 2 to create, 2 agents to register\n');
    expect(planned.output).toContain(
      '+ register   refund-bot (machine): roles support; capabilities refund-*\n' +
        '+ register   ann (human): roles finance; capabilities none\n',
    );
    expect(planned.output).toContain(
      '! The effects are those for agents as they are registered now. For what an agent of these files may do, write a test.\n',
    );
    expect(planned.output).toContain('Tests: 3 passed, 0 failed.');
    expect(planned.output).not.toContain('that no agent has');
    expect(await agents()).toHaveLength(1);
    expect(await policies(['apply', '--yes'])).toMatchObject({ exitCode: 0, errors: '' });
    expect((await agents()).slice(1)).toMatchObject([
      {
        name: 'refund-bot',
        kind: 'machine',
        roles: ['support'],
        capabilities: ['refund-*'],
        description: 'Pays back.',
      },
      { name: 'ann', kind: 'human', roles: ['finance'], capabilities: [], description: '' },
    ]);
    expect(await policies(['plan', '--prune'])).toMatchObject({ exitCode: 0, errors: '' });

    await send(app, 'POST', '/api/v1/agents/ann/suspend');
    write('agents.yaml', AGENTS.replace('roles: [finance]', 'roles: [finance, legal]').replace('Pays back.', '""'));
    const changed = await policies(['plan', '--json']);
    expect(changed).toMatchObject({ exitCode: 2, errors: '' });
    expect(JSON.parse(changed.output)).toMatchObject({
      complete: false,
      reason: expect.stringContaining('agents as they are registered now'),
    });
    expect(JSON.parse(changed.output).agents.map(({ change, name }: Parsed) => [change, name])).toEqual([
      ['update', 'refund-bot'],
      ['update', 'ann'],
    ]);
    const applied = await policies(['apply', '--yes']);
    expect(applied).toMatchObject({ exitCode: 0, errors: '' });
    expect(applied.output).toContain('Policies: 2 agents to change, 2 kept\n');
    // So that a pipeline which applies where there is a base applies this.
    expect(applied.output).toMatch(/^ +Base: \w{64}\.\w{32}$/m);
    expect(applied.output).toContain('! change     ann: roles finance → finance, legal\n');
    expect(applied.output).toContain('! change     refund-bot: description Pays back. → none\n');
    // One pull request is one change: of agents alone as well.
    expect(await lastCommit()).toEqual(['agent.updated', 'agent.updated']);
    expect(await agents()).toMatchObject([
      { name: 'other', status: 'active', roles: ['support'] },
      { name: 'refund-bot', description: '' },
      { name: 'ann', status: 'suspended', roles: ['finance', 'legal'] },
    ]);
    rmSync(join(folder, 'policies', 'agents.yaml'));
    expect(await policies(['apply', '--yes', '--prune'])).toMatchObject({ exitCode: 0 });
    expect(await agents()).toHaveLength(3);
  });

  it('answer tests as the files make them, before they are registered', async () => {
    write('agents.yaml', AGENTS);
    write('policies.yaml', POLICIES.replace('EXPECTED', 'allow'));
    const text = 'policies/policies.yaml:17:5: tests[2] should be allow, and is deny by no policy (capability_missing)';
    for (const words of [['test'], ['plan'], ['apply', '--yes']]) {
      const { exitCode, output } = await policies(words);
      expect([exitCode, output]).toEqual([1, expect.stringContaining(text)]);
      expect(output).toContain('Tests: 2 passed, 1 failed.');
    }
    expect(await agents()).toHaveLength(1);
    await createAgent(app, { name: 'refund-bot', capabilities: ['close-order'] });
    expect((await policies(['test'])).output).toContain(text);
    write('agents.yaml', AGENTS.replace('refund-*', '*'));
    expect((await policies(['test'])).output).toContain(
      'tests[2] should be allow, and is deny by no policy (no_policy',
    );
  });

  it.each([
    [
      'kind',
      'agents:\n  - name: other\n    kind: human\n',
      ':3:11: agents[0].kind cannot become human: "other" is registered',
    ],
    ['service', 'agents:\n  - { name: a, capabilities: ["a*b"] }\n', 'a.yaml:2:31: agents[0].capabilities[0] '],
    ['service', 'agents:\n  - { name: "role:x" }\n', 'a.yaml:2:13: agents[0].name '],
    [
      'lint',
      'agents:\n  - { name: a }\n  - { name: a }\n',
      ':3:13: agents[1].name is that of policies/a.yaml:2:5: names',
    ],
    ['lint', 'agents:\n  - { name: a, role: [x] }\n', ':2:22: agents[0].role is not known here'],
    ['lint', 'agents:\n  - { kind: machine }\n', ':2:5: agents[0] needs name, such as '],
    ['lint', 'agents:\n  - { name: a, kind: robot }\n', ':2:22: agents[0].kind must be one of machine, human'],
  ])('are refused with their place: %s %j', async (by, text, fault) => {
    write('a.yaml', text);
    const refused = { exitCode: 1, errors: expect.stringContaining(fault) };
    if (by === 'lint') expect(await policies(['lint'])).toMatchObject(refused);
    expect(await policies(['apply', '--yes'])).toMatchObject(refused);
    expect(await agents()).toHaveLength(1);
  });

  it('are changed with a key that may do so only, before any policy', async () => {
    write('a.yaml', AGENTS.replace('refund-bot', 'other'));
    expect(await policies(['lint'])).toMatchObject({
      exitCode: 0,
      output: '1 file, 0 policies, 0 tests, 2 agents: well-formed.\n',
    });
    const { secret } = await issueKey(app, { name: 'merge', scopes: ['read', 'policies'] });
    keepSecret(secret);
    const refused = { exitCode: 1, errors: expect.stringContaining('scope') };
    expect(await policies(['apply', '--yes'], secret)).toMatchObject(refused);
    expect(await agents()).toMatchObject([{ name: 'other', roles: ['support'], capabilities: ['refund-order'] }]);
  });

  it('are in the base: what was changed since the plan is not overwritten', async () => {
    write('a.yaml', AGENTS);
    expect(await policies(['apply', '--yes'])).toMatchObject({ exitCode: 0 });
    const widened = AGENTS.replace('"refund-*"', '"*"');
    write('a.yaml', widened);
    const { base } = JSON.parse((await policies(['plan', '--json'])).output);
    expect((await policies(['plan'])).output).toContain(`Base: ${base}\n`);
    await send(app, 'PATCH', '/api/v1/agents/refund-bot', { body: { capabilities: [] } });
    for (const old of [base, base.split('.')[0]]) {
      const refused = await policies(['apply', '--yes', '--base', old]);
      expect(refused).toMatchObject({ exitCode: 1, errors: expect.stringContaining('the agents in the files') });
    }
    expect((await agents())[1].capabilities).toEqual([]);
    const { base: now } = JSON.parse((await policies(['plan', '--json'])).output);
    expect(await policies(['apply', '--yes', '--base', now])).toMatchObject({ exitCode: 0, errors: '' });
    expect((await agents())[1].capabilities).toEqual(['*']);
  });

  it.each([
    [['policies', 'read'], 'lacks the scope agents (agents are registered or changed) and admin (people are'],
    [['policies', 'read', 'agents'], 'lacks the scope admin (people are registered or changed)'],
    [['read', 'agents'], 'lacks the scope policies (policies change) and admin'],
  ])('need all scopes before anything is changed: %j', async (scopes, missing) => {
    write('agents.yaml', AGENTS);
    write('policies.yaml', POLICIES.replace('EXPECTED', 'deny'));
    const { secret } = await issueKey(app, { name: 'merge', scopes });
    keepSecret(secret);
    const refused = await policies(['apply', '--yes'], secret);
    expect(refused).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining(`Nothing was applied: the key ${missing}`),
    });
    expect(await agents()).toHaveLength(1);
    expect((await send(app, 'GET', '/api/v1/policies')).body.total).toBe(0);
    expect((await send(app, 'GET', '/api/v1/audit?action=access.denied')).body.total).toBe(0);
  });

  it('fill the groups of approvers that nobody registered fills yet, and no others', async () => {
    const asks = (name: string, subject: string): string =>
      `  - { name: ${name}, version: "1", effect: require_approval, subjects: ["*"], actions: ["${name}"], ` +
      `resources: ["*"], approval: { approvers: [{ subjects: ["${subject}"] }] } }\n`;
    const subjects = ['agent:ann', 'ann', 'role:finance', 'kind:human', '*', 'refund-bot', 'agent:ben', 'role:support'];
    write('a.yaml', `${AGENTS}policies:\n${subjects.map((subject, index) => asks(`p${index}`, subject)).join('')}`);
    const { warnings } = JSON.parse((await policies(['plan', '--json'])).output);
    const unfilled = warnings.filter((warning: string) => warning.includes('No active agent matches'));
    expect(unfilled).toEqual([expect.stringContaining('(agent:ben)'), expect.stringContaining('(role:support)')]);
  });

  it('end a shortage of approvers if they are enough, and only then', async () => {
    await createAgent(app, { name: 'hans', kind: 'human', roles: ['hr'] });
    const asks = (name: string, groups: string): string =>
      `  - { name: ${name}, version: "1", effect: require_approval, subjects: ["*"], actions: ["${name}"], ` +
      `resources: ["*"], approval: { approvers: [${groups}] } }\n`;
    const needs = (approvals: number, role = 'hr'): string => `{ subjects: ["role:${role}"], approvals: ${approvals} }`;
    const list = [needs(2), needs(3), needs(1, 'new'), needs(2, 'new'), `${needs(1)}, ${needs(1, 'new')}`];
    const people = 'agents:\n  - { name: hilde, kind: human, roles: [hr, new] }\n';
    write('a.yaml', `${people}policies:\n${list.map((groups, index) => asks(`p${index}`, groups)).join('')}`);
    const { warnings } = JSON.parse((await policies(['plan', '--json'])).output);
    const short = warnings.filter((warning: string) => warning.includes('approval.approvers'));
    expect(short).toEqual([
      expect.stringMatching(/^p1 .* need 3 approvals, .* can give 1 of them/),
      expect.stringMatching(/^p3 .*approvers\[0\] needs 2 approvals, .* the agents of the files can give 1 of them/),
    ]);
  });

  it('are named by the effects of their roles, and by their names', async () => {
    const allow = '    effect: allow\n    version: "1"\n    resources: ["*"]\n';
    const policy = (name: string, subject: string): string =>
      `  - name: ${name}\n${allow}    actions: [${name}]\n    subjects: ["${subject}"]\n`;
    write('agents.yaml', 'agents:\n  - { name: clerk, roles: [desk] }\n  - { name: other, roles: [support, night] }\n');
    write(
      'a.yaml',
      `policies:\n${['role:desk', 'role:night', 'role:day', 'clerk', 'nobody'].map((one, at) => policy(`act-${at}`, one)).join('')}`,
    );
    const { output } = await policies(['plan']);
    const subjectTexts = [
      'role:desk (given here to clerk)',
      'role:night (given here to other)',
      'role:day (nobody has it yet)',
    ];
    for (const [at, who] of [...subjectTexts, 'clerk (registered here)', 'nobody (not registered yet)'].entries())
      expect(output).toContain(`! ${who} may act-${at} on anything (act-${at} 1)\n`);
  });

  it('of a similar name as a registered one are probably that one', async () => {
    await createAgent(app, { name: 'support-bot' });
    write('a.yaml', 'agents:\n  - { name: suport-bot }\n');
    const { output } = await policies(['plan']);
    expect(output).toContain(
      'a.yaml:2:13: agents[0].name is "suport-bot": did you mean "support-bot", which is registered?',
    );
    write('a.yaml', 'agents:\n  - { name: support-bot }\n  - { name: suport-bot }\n');
    const { errors } = await policies(['lint']);
    expect(errors).toContain('agents[1].name is similar to "support-bot", another agent of these files');
  });

  it('of the first three bots in the documents come into force without a warning, with what the commands after them show', async () => {
    const blocks = codeBlocks(section(readDocument('docs/first-five-minutes.md'), '## Your first three bots'));
    write('bots.yaml', blocks.find(({ language }) => language === 'yaml')?.code ?? '');
    const planned = await policies(['plan', '--json']);
    expect(JSON.parse(planned.output)).toMatchObject({ warnings: [], shadowed: [] });
    const { output } = await policies(['plan']);
    expect(output).toContain('different answer: 2 newly allowed, 1 newly in need of approval.\n');
    expect(output).toContain('role:mail (given here to mail-bot)');
    expect(output).toContain('\n! role:reports (given here to report-bot) may read-* on reports/*');
    expect(output).not.toContain('nobody has it yet');
    expect(await policies(['apply', '--yes'])).toMatchObject({ exitCode: 0, errors: '' });
    const commands = (blocks.find(({ language }) => language === 'bash')?.code ?? '').trim().split('\n');
    const answers: ProgramRun[] = [];
    for (const command of commands.slice(2)) {
      const words =
        command
          .replace(/ +#.*$/, '')
          .replace(/^gov /, '')
          .match(/'[^']*'|\S+/g) ?? [];
      const environment = { XDG_CONFIG_HOME: folder, GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY };
      answers.push(
        await gov(
          words.map((word) => word.replaceAll("'", '')),
          { environment, folder },
        ),
      );
    }
    expect(answers.map(({ exitCode, errors }) => [exitCode, errors])).toEqual(commands.slice(2).map(() => [0, '']));
    expect(answers[2]?.output).toContain('needs 1 of role:finance');
  });
});
