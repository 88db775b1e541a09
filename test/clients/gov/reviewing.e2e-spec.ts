import { spawnSync } from 'node:child_process';
import { approve, ask, company, type Company, pending, requireApproval } from '../../approvals/support';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey, propose } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import { run, type ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, gov as runGov, MAIN } from '../command-line';

const hasScript = String(spawnSync('script', ['--version']).stdout).includes('util-linux');

describeOnSqlite('What gov shows a reviewer', () => {
  let app: TestApp;
  let people: Company;
  let annsKey: string;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp();
    people = await company(app);
    await requireApproval(app, {}, { name: 'refunds', version: '7', description: 'Money leaves the house.' });
    annsKey = (await issueKey(app, { name: 'ann', scopes: ['review'], agentId: people.ann.id })).secret;
  });
  afterAll(() => app.close());

  function gov(words: readonly string[], key = annsKey): Promise<ProgramRun> {
    return runGov(words, { environment: { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key } });
  }

  /** Runs it on a terminal where somebody types `input`. */
  function onTerminal(words: readonly string[], input: string): Promise<ProgramRun> {
    const line = [process.execPath, MAIN, ...words].map((word) => `'${word}'`).join(' ');
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: annsKey };
    return run('script', ['-qec', line, '/dev/null'], { environment, input });
  }

  const refund = { resourceId: 'orders/17', parameters: { amount: 80, to: 'acct-9' } };

  it('inbox, show and approve: on whose behalf', async () => {
    const readingKey = (await issueKey(app, { scopes: ['review', 'read'], agentId: people.ann.id })).secret;
    const expectPrinted = async (onBehalfOf: object, part: RegExp): Promise<void> => {
      const { decisionId } = await pending(app, people.bot, { ...refund, onBehalfOf });
      for (const words of [['inbox'], ['show', String(decisionId)], ['approve', String(decisionId)]])
        expect((await gov(words, readingKey)).output).toMatch(part);
    };
    await expectPrinted({ subject: 'user:4711', roles: ['vip', 'staff'] }, /on behalf of +user:4711\b.*staff, vip/);
    await expectPrinted({ subject: `agent:${people.ann.id}` }, /on behalf of +ann\b/);
  });

  it.each(['inbox', 'show'])(
    '%s: who asks for what, with which parameters, why, and what is still needed',
    async (word) => {
      const { decisionId } = await pending(app, people.bot, refund);
      const { exitCode, output, errors } = await gov(word === 'inbox' ? ['inbox'] : ['show', String(decisionId)]);
      expect([exitCode, errors]).toEqual([0, '']);
      for (const part of [
        String(decisionId),
        'medium',
        'bot',
        'refund',
        'payment/orders/17',
        '80',
        'acct-9',
        'refunds 7',
      ])
        expect(output).toContain(part);
      expect(output).toMatch(/needs +1 of role:finance\n/);
    },
  );

  it('shows why a policy asks to who may read it, and asks for nothing that a key may not see', async () => {
    const { decisionId } = await pending(app, people.bot, refund);
    expect((await gov(['show', String(decisionId)], API_KEY)).output).toContain('refunds 7: Money leaves the house.');
    await gov(['show', String(decisionId)]);
    await gov(['inbox', '--as', 'ann']);
    expect((await send(app, 'GET', '/api/v1/audit?action=access.denied')).body.total).toBe(0);
    const json = JSON.parse((await gov(['show', String(decisionId), '--json'])).output);
    expect(json).toMatchObject({ id: decisionId, status: 'proposed' });
  });

  it('names who asked and who has decided, to who may read their names', async () => {
    await requireApproval(
      app,
      { approvers: [{ subjects: ['role:finance', 'role:security'], approvals: 2 }], grant: { for: 'PT1H' } },
      { name: 'twice', actions: ['send'] },
    );
    const { decisionId } = await pending(app, people.bot, { ...refund, action: 'send' });
    const id = String(decisionId);
    await send(app, 'POST', `/api/v1/decisions/${id}/approve`, {
      body: { approverId: people.ann.id, comment: 'Seen.', grant: { for: 'PT1H' } },
    });
    const { secret } = await issueKey(app, { name: 'ben', scopes: ['review', 'read'], agentId: people.ben.id });
    const { id: lone } = await propose(app, people.bot.id);
    for (const words of [['show', id], ['approve', id], ['inbox'], ['inbox', '--approve']]) {
      const { output } = await gov(words, secret);
      expect([words, output]).toEqual([
        words,
        expect.stringMatching(/ (?:approved by +ann: Seen\.|ann gave --for PT1H)\n/),
      ]);
      // Of a person on whose behalf somebody asks, the subject is shown beside the name.
      expect(output.replaceAll(/^ +on behalf of .*$/gm, '')).not.toMatch(/agt_/);
    }
    expect((await gov(['show', id])).output).toContain(`approved by  ${people.ann.id}: Seen.`);
    expect((await gov(['whoami'], secret)).output).toContain(`agent:   ben (${people.ben.id})\n`);
    expect((await gov(['whoami'])).output).toContain(`agent:   ${people.ann.id}\n`);
    expect((await send(app, 'GET', '/api/v1/audit?action=access.denied')).body.total).toBe(0);
    for (const settled of [id, lone]) await gov(['reject', settled, '--yes'], secret);
  });

  (hasScript ? it : it.skip)('approve: asks once more on a terminal, below all of it', async () => {
    const { decisionId } = await pending(app, people.bot, { resourceId: 'orders/18', parameters: { amount: 81 } });
    const no = await onTerminal(['approve', String(decisionId)], 'n\n');
    expect(no.output).toMatch(
      /bot[^]*refund[^]*payment\/orders\/18[^]*81[^]*refunds 7[^]*1 of role:finance[^]*Approve\?/,
    );
    expect([no.exitCode, no.output]).toEqual([1, expect.stringContaining('Nothing was approved.')]);
    const path = `/api/v1/decisions/${String(decisionId)}`;
    expect((await send(app, 'GET', path)).body.status).toBe('proposed');
    const yes = await onTerminal(['approve', String(decisionId)], 'y\n');
    expect([yes.exitCode, yes.output]).toEqual([0, expect.stringContaining('approved')]);
    expect((await send(app, 'GET', path)).body.status).toBe('approved');
    const other = await pending(app, people.bot, { resourceId: 'orders/19' });
    const sure = await onTerminal(['approve', String(other.decisionId), '--yes'], '');
    expect([sure.exitCode, sure.output]).toEqual([0, expect.not.stringContaining('Approve?')]);
  });

  it.each([
    ['approve', 'Nothing was approved'],
    ['reject', 'Nothing was rejected'],
  ])('%s: without a terminal, whatever is piped into it, only --yes is a yes', async (verb, nothing) => {
    const { decisionId } = await pending(app, people.bot, { resourceId: `orders/piped-${verb}` });
    const path = `/api/v1/decisions/${String(decisionId)}`;
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: annsKey };
    for (const input of ['n\n', 'y\n', '']) {
      const piped = await runGov([verb, String(decisionId)], { environment, input });
      expect(piped).toMatchObject({ exitCode: 1, output: expect.stringContaining(`orders/piped-${verb}`) });
      expect(piped.errors).toContain(`${nothing}: without a terminal, --yes has to be given.`);
      expect((await send(app, 'GET', path)).body.status).toBe('proposed');
    }
    expect(await gov([verb, String(decisionId), '--yes'])).toMatchObject({ exitCode: 0, errors: '' });
    expect((await send(app, 'GET', path)).body.status).not.toBe('proposed');
  });

  (hasScript ? it : it.skip)('reject: asks once more on a terminal, as it is final', async () => {
    const { decisionId } = await pending(app, people.bot, { resourceId: 'orders/20' });
    const no = await onTerminal(['reject', String(decisionId)], 'n\n');
    expect([no.exitCode, no.output]).toEqual([
      1,
      expect.stringMatching(/orders\/20[^]*Reject\?[^]*Nothing was rejected/),
    ]);
    const yes = await onTerminal(['reject', String(decisionId)], 'y\n');
    expect([yes.exitCode, yes.output]).toEqual([0, expect.stringMatching(/is .*rejected/)]);
  });

  it('inbox --approve: shows all whole, asks once, and approves them together', async () => {
    const parameters = { amount: 82, note: 'x'.repeat(300) };
    const other = await pending(app, people.bot, { resourceId: 'orders/23', run: 'of the day' });
    const executions = [
      await pending(app, people.bot, { resourceId: 'orders/21', parameters, run: 'of the night' }),
      await pending(app, people.bot, { resourceId: 'orders/22', run: 'of the night' }),
    ];
    expect((await gov(['inbox'])).output).toContain('in the run of the day');
    expect((await gov(['inbox', '--run', 'of the night'])).output).not.toContain(String(other.decisionId));
    const statuses = (): Promise<string[]> =>
      Promise.all(executions.map(async ({ id }) => (await send(app, 'GET', `/api/v1/executions/${id}`)).body.outcome));
    expect((await gov(['inbox'])).output).toContain('gov inbox --approve');
    const undecided = await gov(['inbox', '--yes', '--comment', 'Both.']);
    expect([undecided.exitCode, undecided.errors]).toEqual([1, expect.stringContaining('belong to --approve')]);
    const silent = await gov(['inbox', '--approve']);
    expect(silent).toMatchObject({ exitCode: 1, output: expect.stringContaining('x'.repeat(300)) });
    expect(silent.errors).toContain('Nothing was approved');
    expect(await statuses()).toEqual(['pending_approval', 'pending_approval']);
    const done = await gov(['inbox', '--run', 'of the night', '--approve', '--yes', '--comment', 'Both.']);
    expect([done.exitCode, done.errors]).toEqual([0, '']);
    for (const { decisionId } of executions) expect(done.output).toContain(`${String(decisionId)} is approved.`);
    expect(await statuses()).toEqual(['approved', 'approved']);
    expect((await gov(['inbox', '--approve', '--yes'])).output).toContain(`${String(other.decisionId)} is approved.`);
    expect((await gov(['inbox', '--approve'])).output).toBe('Nothing.\n');
  });

  it('inbox --approve: says how many wait that it has not approved', async () => {
    const requests = Array.from({ length: 51 }, (_, index) => ({ resourceId: `orders/many-${index}`, run: 'of many' }));
    await Promise.all(requests.map((one) => pending(app, people.bot, one)));
    const words = ['inbox', '--run', 'of many', '--approve', '--yes'];
    const first = await gov(words);
    expect([first.exitCode, first.errors]).toEqual([0, '1 more wait: repeat the command for them.\n']);
    expect(first.output.match(/ is approved\./g)).toHaveLength(50);
    expect((await gov(words)).errors).toBe('');
  });

  it('says that two different people are needed where one fills both groups', async () => {
    const both = [{ subjects: ['role:finance'] }, { subjects: ['role:security'] }];
    await createPolicy(app, {
      ...{ effect: 'require_approval', actions: ['send'], priority: 5 },
      approval: { approvers: both },
    });
    const dora = await createAgent(app, { name: 'dora', kind: 'human', roles: ['finance', 'security'] });
    const { body } = await ask(app, people.bot, { action: 'send' });
    await approve(app, body.decisionId, dora);
    const needed = '1 of role:finance and 1 of role:security, by two different people';
    for (const words of [['inbox'], ['show', String(body.decisionId)]])
      expect((await gov(words, API_KEY)).output).toContain(needed);
  });

  it('says each time that a key which is bound to nobody makes any signature', async () => {
    const warning = 'Signing as ben. This key is not bound to a person; it can sign as anyone.';
    for (const verb of ['approve', 'reject']) {
      const { decisionId } = await pending(app, people.bot, { resourceId: `orders/${verb}` });
      const signed = await gov([verb, String(decisionId), '--as', 'ben', '--yes'], API_KEY);
      expect(signed).toMatchObject({ exitCode: 0, errors: expect.stringContaining(warning) });
    }
    const { decisionId } = await pending(app, people.bot, { resourceId: 'orders/own' });
    expect(await gov(['approve', String(decisionId), '--as', 'ann', '--yes'])).toMatchObject({
      exitCode: 0,
      errors: '',
    });
  });

  it('takes a rejection by a key that is bound to nobody, but no approval', async () => {
    const { decisionId } = await pending(app, people.bot, { resourceId: 'orders/unbound' });
    const approved = await gov(['approve', String(decisionId), '--yes'], API_KEY);
    expect(approved).toMatchObject({ exitCode: 1, errors: expect.stringContaining('name the reviewer with --as') });
    expect(await gov(['reject', String(decisionId), '--yes'], API_KEY)).toMatchObject({ exitCode: 0, errors: '' });
  });

  it('knows that an unknown name is not somebody with an empty inbox', async () => {
    const unknown = await gov(['inbox', '--as', 'nobody'], API_KEY);
    expect(unknown).toMatchObject({ exitCode: 1, output: '', errors: expect.stringContaining('nobody') });
  });

  it('what takes a signature, and where it is given', async () => {
    const approval = { approvers: [{ subjects: ['role:finance'], signed: true }] };
    await requireApproval(app, approval, { name: 'signed', actions: ['ship'] });
    await send(app, 'PATCH', `/api/v1/agents/${people.bot.id}`, { body: { capabilities: ['refund', 'send', 'ship'] } });
    const execution = await pending(app, people.bot, { ...refund, action: 'ship' });
    const id = String(execution.decisionId);
    const link = `${app.url}/console/decisions/${id}`;
    expect((await gov(['show', id])).output).toMatch(/needs +1 of role:finance, signed\n/);
    for (const words of [
      ['approve', id, '--yes'],
      ['approve', id],
    ]) {
      const { exitCode, output, errors } = await gov(words);
      expect({ exitCode, output: output + errors }).toEqual({
        ...{ exitCode: 1, output: expect.stringContaining(`signed with a passkey. Open ${link} to approve it.`) },
      });
    }
    const plain = await pending(app, people.bot, { ...refund, resourceId: 'orders/18' });
    const together = await gov(['inbox', '--approve', '--yes', '--as', people.ann.id]);
    expect(together.output).toMatch(new RegExp(`${String(plain.decisionId)} is approved\\.`));
    expect((await gov(['inbox', '--approve', '--yes', '--json'])).output).toBe('[]\n');
    expect((await gov(['reject', id, '--yes'])).exitCode).toBe(0);
  });
});
