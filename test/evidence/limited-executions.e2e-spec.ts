import { setTimeout as sleep } from 'node:timers/promises';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { runVerifier, type VerifierRun } from '../support/processes/run-verifier';
import { forge } from './forged-file';
import { decisionFileOf, verifyFile } from './verified-file';

describe('The verifier, on executions under limits', () => {
  let app: TestApp;
  let publicKey = '';
  const made: Parsed[] = [];

  beforeAll(async () => {
    app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    await createAgent(app, { name: 'bot', capabilities: ['pay', 'book', 'call'] });
    const limits = [
      { max: 10, of: '/amount', per: 'day', by: 'agent' },
      { max: 4, per: 'week', by: 'policy' },
    ];
    await createPolicy(app, { name: 'spend', actions: ['pay'], priority: 5, limits });
    await createPolicy(app, { name: 'asked', effect: 'require_approval', actions: ['pay'] });
    await createPolicy(app, { name: 'book', actions: ['book'], limits });
    for (const amount of [0.1, 0.2, 9.8, 9.7]) made.push(await execute('pay', { amount }));
    await execute('book', { amount: 11 });
    await execute('book', {});
    const denied = await send(app, 'GET', '/api/v1/executions?action=book&limit=2');
    made.push(...denied.body.data);
    publicKey = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body.publicKey;
  });
  afterAll(() => app.close());

  async function execute(action: string, parameters: object): Promise<Parsed> {
    const body = { action, resourceType: 'bill', resourceId: 'b', parameters };
    return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
  }

  const exported = async (): Promise<string> => (await send(app, 'GET', '/api/v1/provenance/export')).text;

  it('recomputes what was used, and what kept a policy from matching', async () => {
    const outputs = [];
    for (const execution of made) {
      const { exitCode, output } = await verifyFile(await decisionFileOf(app, execution), publicKey);
      expect({ exitCode, last: output.trimEnd().split('\n').at(-1) }).toMatchObject({ exitCode: 0 });
      outputs.push(output);
    }
    expect(outputs[1]).toMatch(/spend 1\.0, 10 in the day from .*, 0\.1 was used before; 0\.2 was taken\./);
    expect(outputs[2]).toMatch(/0\.3 was used before; 9\.8 was requested, so the policy did not match\./);
    expect(outputs[4]).toMatch(/So it was denied: limit_reached\./);
    expect(outputs[5]).toMatch(/no amount that counts was requested/);
  });

  it('recomputes limits in a zone, and takes the digest of equal requests as it is', async () => {
    await createPolicy(app, {
      name: 'call',
      actions: ['call'],
      limits: [
        { max: 2, per: 'day', zone: 'Pacific/Kiritimati', by: 'request' },
        { max: 9, per: 'month', zone: 'america/vancouver', by: 'agent' },
      ],
    });
    const calls = [await execute('call', { to: 'a' }), await execute('call', { to: 'a' })];
    expect((await execute('call', { to: 'a' })).error.reason).toBe('limit_reached');
    calls.push((await send(app, 'GET', '/api/v1/executions?action=call&limit=1')).body.data[0]);
    calls.push(await execute('call', { to: 'b' }));
    const outputs = [];
    for (const call of calls) outputs.push(await verifyFile(await decisionFileOf(app, call), publicKey));
    expect(outputs.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0]);
    expect(outputs[1]?.output).toMatch(
      /call 1\.0, 2 of equal requests in the day from \S+T10:00:00\.000Z \(Pacific\/Kiritimati\), 1 was used before; 1 was taken\./,
    );
    expect(outputs[1]?.output).toMatch(/9 in the month from \S+T0[78]:00:00\.000Z \(america\/vancouver\)/);
    expect(outputs[3]?.output).toMatch(/2 of equal requests .*, 0 was used before; 1 was taken\./);
    expect((await runVerifier(['-'], await exported())).exitCode).toBe(0);
    for (const change of [
      ({ used }: Parsed) => (used[0].window = used[0].window.replace('T10', 'T00')),
      ({ used }: Parsed) => (used[0].key = 'agt_1'),
      ({ used }: Parsed) => (used[1].key = used[0].key),
      (details: Parsed) => delete details.zones,
    ]) {
      const { text, publicKey: key } = forge(await decisionFileOf(app, calls[0]), (file) => {
        for (const { action, audit } of file.entries) if (action === 'execution.authorized') change(audit.details);
      });
      expect((await verifyFile(text, key)).output).toMatch(/DIFFERS: .*details\.(?:used|zones)/);
    }
  });

  it('finds what no limit allows, and what a limit would have allowed', async () => {
    const changed = async (execution: Parsed, change: (details: Parsed) => void): Promise<string> => {
      const { text, publicKey: key } = forge(await decisionFileOf(app, execution), (file) => {
        for (const { action, audit } of file.entries) if (action.startsWith('execution.')) change(audit.details);
      });
      return (await verifyFile(text, key)).output;
    };
    const [, authorizedExecution, pendingExecution, , refused] = made;
    expect(await changed(authorizedExecution, ({ used }) => (used[0].before = '9.9'))).toMatch(
      /DIFFERS: .*spend was exceeded/,
    );
    expect(await changed(authorizedExecution, ({ used }) => (used[0].amount = '0.1'))).toMatch(
      /DIFFERS: .*details\.used/,
    );
    expect(await changed(authorizedExecution, (details) => delete details.used)).toMatch(/DIFFERS: .*details\.used/);
    expect(await changed(pendingExecution, ({ limited }) => (limited[0].before = '0'))).toMatch(
      /DIFFERS: .*was not reached/,
    );
    expect(await changed(pendingExecution, (details) => delete details.limited)).toMatch(/DIFFERS/);
    expect(await changed(refused, ({ limited }) => (limited[0].key = null))).toMatch(/DIFFERS/);
  });

  it('holds every before of an export against the entries before it, also where some were erased', async () => {
    const onLog = async (text: string): Promise<VerifierRun> => runVerifier(['-'], text);
    expect((await onLog(await exported())).exitCode).toBe(0);
    const file = await decisionFileOf(app, made[3]);
    expect((await verifyFile(file, publicKey, await exported())).exitCode).toBe(0);
    const forged = (await exported()).replaceAll('"before":"0.3"', '"before":"0.2"');
    expect((await onLog(forged)).output).toMatch(/says that 0\.2 were used before of .*; the entries have 0\.3/);
    const subjects = [made[1], made[3]].map(({ id }) => ({ type: 'execution', id }));
    const begun = await send(app, 'POST', '/api/v1/erasures', { body: { subjects, reason: 'asked for' } });
    expect(begun.status).toBe(201);
    // Its entries lose their contents in the background; until then they hold as well.
    expect((await onLog(await exported())).exitCode).toBe(0);
    while ((await send(app, 'GET', `/api/v1/erasures/${begun.body.id}`)).body.completedAt === null) await sleep(50);
    const erased = await exported();
    expect((await onLog(erased)).exitCode).toBe(0);
    const less = erased.replaceAll('"amount":"0.2"', '"amount":"0.1"');
    expect((await onLog(less)).output).toMatch(/what erased entries have used of .* does not lead/);
  });
});
