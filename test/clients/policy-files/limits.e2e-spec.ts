import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy } from '../../support/application/factories';
import { type Parsed, send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import type { ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, gov as runGov } from '../command-line';

const RULES = { version: '1', effect: 'allow', subjects: ['role:buyer'], actions: ['pay'], resources: ['*'] };
const DAILY = { max: 1_000, of: '/amount', per: 'day', by: 'agent' };
const COUNTED = { max: 20, per: 'week', by: 'policy' };

const FAULTY: readonly object[] = [
  { limits: [{ ...DAILY, max: -1 }] },
  { limits: [{ ...DAILY, max: 1234567890123456 }] },
  { limits: [{ ...DAILY, of: 'amount' }] },
  { limits: [{ ...DAILY, of: '/items/*' }] },
  { limits: [{ ...DAILY, of: '/a~2' }] },
  { limits: [DAILY, { ...DAILY, max: 1 }] },
  { limits: [DAILY, { ...DAILY, zone: 'utc' }] },
  {
    limits: [
      { ...DAILY, zone: 'Europe/Berlin' },
      { ...DAILY, zone: 'europe/berlin' },
    ],
  },
  { limits: [{ ...DAILY, zone: 'Europe/Atlantis' }] },
  { limits: [{ max: 1, per: 'hour', by: 'agent', zone: 'Europe/Berlin' }] },
  { limits: [{ ...DAILY, by: 'request' }] },
  { limits: [COUNTED, DAILY, { ...COUNTED, of: null }] },
  { limits: [COUNTED], effect: 'deny' },
];
const SOUND: readonly object[] = [
  { limits: [] },
  { limits: [], effect: 'deny' },
  { limits: [DAILY, COUNTED, { ...DAILY, of: '/a~1b' }] },
];

describeOnSqlite('gov, on policies with limits', () => {
  let app: TestApp;
  let folder: string;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp();
    await createAgent(app, { name: 'bot', roles: ['buyer'], capabilities: ['pay'] });
    await createPolicy(app, { ...RULES, name: 'spend', limits: [DAILY, COUNTED] });
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gov-limits-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  afterAll(() => app.close());

  const gov = (...words: readonly string[]): Promise<ProgramRun> => {
    const environment = { XDG_CONFIG_HOME: folder, GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY };
    return runGov(words, { environment, folder });
  };

  it('shows what is used of them, by the name of the policy or its id', async () => {
    const body = { action: 'pay', resourceType: 'invoice', resourceId: 'i', parameters: { amount: 250.5 } };
    await send(app, 'POST', '/api/v1/agents/bot/execute', { body });
    const { output } = await gov('usage', 'spend');
    expect(output).toMatch(/^LIMIT +FOR +USED +UNTIL/);
    expect(output).toMatch(/\[0\] \/amount a day +agt_\w+ \(bot\) +250\.5 of 1000 +\d{4}-/);
    expect(output).toMatch(/\[1\] executions a week +all +1 of 20 /);
    const { data } = (await send(app, 'GET', '/api/v1/policies?name=spend')).body;
    const usage = JSON.parse((await gov('usage', data[0].id, '--json')).output);
    expect(usage).toEqual((await send(app, 'GET', `/api/v1/policies/${data[0].id}/usage`)).body);
    expect(await gov('usage', 'other')).toMatchObject({ exitCode: 1, errors: expect.stringContaining('"other"') });
    await createPolicy(app, { name: 'free', actions: ['look-up'] });
    expect(await gov('usage', 'free')).toMatchObject({ exitCode: 0, output: 'The policy has no limits.\n' });
  });

  it('finds in files what the service refuses', async () => {
    const policies = [...FAULTY, ...SOUND].map((policy, index) => ({ ...RULES, name: `p${index}`, ...policy }));
    const places = (texts: readonly string[]): string[] =>
      [...new Set(texts.map((text) => /policies\[\d+\]\.limits/.exec(text)?.[0] ?? text))].sort();
    const { body } = await send(app, 'POST', '/api/v1/policies/plan', { body: { policies } });
    const refused = places(body.error.details.map(({ field }: Parsed) => field));
    expect(refused).toEqual(FAULTY.map((_, index) => `policies[${index}].limits`).sort());
    const lintFaults = [];
    for (const [index, policy] of policies.entries()) {
      const path = join(folder, `${index}.json`);
      writeFileSync(path, JSON.stringify({ policies: [policy] }));
      const { exitCode } = await gov('policies', 'lint', path);
      if (exitCode !== 0) lintFaults.push(`policies[${index}].limits`);
    }
    expect(lintFaults.sort()).toEqual(refused);
  });

  it('pulls them into files that change nothing', async () => {
    await gov('policies', 'pull', folder);
    const { exitCode, output } = await gov('policies', 'plan', folder);
    expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
  });
});
