import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import type { ProgramRun } from '../../support/processes/shell';
import { type Company, createCompany, STOPS, verdict } from '../../stops/support';
import { buildCommandLine, gov as runGov } from '../command-line';

const REASON = ['--reason', 'It refunds twice.'];

describeOnSqlite('gov stop', () => {
  let app: TestApp;
  let company: Company;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp();
    company = await createCompany(app);
  });
  afterAll(() => app.close());

  const gov = (words: readonly string[], key = API_KEY): Promise<ProgramRun> =>
    runGov(words, { environment: { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key } });

  it('stops what it is told, shows it, and lifts it', async () => {
    const words = ['stop', '--agent', 'bot', '--role', 'worker', '--action', 'read', 'w*', ...REASON];
    const stopped = await gov(words, company.ann.key);
    const [made] = (await send(app, 'GET', STOPS)).body.data;
    expect(made).toMatchObject({
      ...{ agentId: company.bot.id, role: 'worker', actions: ['read', 'w*'], reason: 'It refunds twice.' },
    });
    // Her key may not read names.
    expect([stopped.exitCode, stopped.output]).toEqual([
      0,
      `${made.id} stops the agent ${company.bot.id} with the role worker in read, w*. To end it: gov lift ${made.id} --reason "…"\n`,
    ]);
    expect([await verdict(app), await verdict(app, 'read', 'other')]).toEqual(['stopped', 'allowed']);
    const listed = (await gov(['stops', '--status', 'active'])).output;
    expect(listed).toContain(made.id);
    expect(listed).toContain(`the agent ${company.bot.id} (bot) with the role worker`);
    expect(JSON.parse((await gov(['show', made.id])).output)).toEqual(made);
    const lifted = await gov(['lift', made.id, ...REASON, '--json'], company.ann.key);
    expect(JSON.parse(lifted.output)).toMatchObject({ id: made.id, status: 'lifted' });
    expect(await verdict(app)).toBe('allowed');
  });

  it('says whom it does not cover, and what was probably meant', async () => {
    const stopped = await gov(['stop', '--role', 'workr', ...REASON]);
    const [made] = (await send(app, 'GET', STOPS)).body.data;
    expect(stopped).toMatchObject({ exitCode: 0, output: expect.stringContaining(made.id) });
    expect(stopped.errors).toBe(
      `Warning: No agent has the role workr. Did you mean "role:worker"? The stop ${made.id} is made all the same.\n`,
    );
    await createAgent(app, { name: 'reader', capabilities: ['read'] });
    const unable = await gov(['stop', '--agent', 'reader', '--action', 'reed', 'r*', ...REASON]);
    expect(unable.errors).toContain('Warning: No agent that this stops is able to do reed. Did you mean "read"?');
    expect(unable.errors.split('\n')).toHaveLength(2);
    expect(unable.output).toMatch(/ stops the agent agt_\w{26} \(reader\) in reed, r\*\. /);
    const stopRun = await gov(['stop', '--role', 'worker', '--action', 'r*', ...REASON]);
    expect(stopRun).toMatchObject({ exitCode: 0, errors: '' });
    const explained = await gov(['explain', 'bot', 'read', 'document', 'a']);
    expect(explained.output).toMatch(/^deny \(stopped\)\n {2}stopped by stp_\w+: It refunds twice\.\n/);
    for (const { id } of (await send(app, 'GET', `${STOPS}?status=active`)).body.data)
      await gov(['lift', id, ...REASON]);
  });

  it('stops everything without options, but not without a reason', async () => {
    expect((await gov(['stop'])).exitCode).toBe(1);
    expect((await gov(['stop', ...REASON], company.bot.key)).errors).toContain('scope');
    const { output } = await gov(['stop', ...REASON]);
    expect(output).toContain('stops every agent in everything.');
    expect(await verdict(app, 'read', 'other')).toBe('stopped');
  });
});
