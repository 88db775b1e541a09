import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { forge } from './forged-file';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

describe('The verifier, on executions that a grant authorised', () => {
  let app: TestApp;
  let publicKey = '';
  let granted: Parsed;
  let instead: Parsed;
  let rejected: Parsed;

  beforeAll(async () => {
    app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    await createAgent(app, { name: 'bot', capabilities: ['pay'] });
    for (const name of ['ann', 'ben']) await createAgent(app, { name, kind: 'human', roles: ['finance'] });
    const approvers = [{ subjects: ['role:finance'], approvals: 2 }];
    const approval = { approvers, grant: { for: 'PT1H', uses: 5, wider: true } };
    await createPolicy(app, { name: 'two', effect: 'require_approval', resources: ['big/*'], approval });
    await createPolicy(app, { name: 'one', effect: 'require_approval', resources: ['small/*'] });
    const resources = ['big/*'];
    const { id, decisionId } = await execute('big/1', { amount: 9 });
    for (const approverId of ['ann', 'ben']) {
      const grant = { for: 'PT30M', resources, parameters: 'any' };
      await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { body: { approverId, grant } });
    }
    await send(app, 'POST', `/api/v1/executions/${id}/resume`);
    granted = await execute('big/2', { amount: 8 });
    rejected = await execute('small/1', { amount: 9 });
    const body = { approverId: 'ann', comment: 'half of it', instead: { parameters: { amount: 4.5 } } };
    await send(app, 'POST', `/api/v1/decisions/${rejected.decisionId}/reject`, { body });
    instead = await execute('small/1', { amount: 4.5 });
    publicKey = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body.publicKey;
  });
  afterAll(() => app.close());

  async function execute(resourceId: string, parameters: object): Promise<Parsed> {
    const body = { action: 'pay', resourceType: 'bill', resourceId, parameters };
    return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
  }

  it('recomputes the grant, who gave it, and that they still could', async () => {
    expect([granted.outcome, instead.outcome]).toEqual(['authorized', 'authorized']);
    const log = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    const outputs = [];
    for (const execution of [granted, instead, rejected]) {
      const { exitCode, output } = await verifyFile(await decisionFileOf(app, execution), publicKey, log);
      expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
      outputs.push(output);
    }
    expect(outputs[0]).toMatch(
      /With it came a grant: for PT30M, any number of times, the resources \["big\/\*"\] and any parameters\./,
    );
    expect(outputs[0]).toMatch(/was good for pay on bill "big\/\*" with any parameters, 5 times, until/);
    expect(outputs[0]).toMatch(/What was required then, 2 of role:finance, they could still approve\./);
    expect(outputs[1]).toMatch(/with these parameters, once, until/);
    expect(outputs[2]).toMatch(
      /The parameters \{"amount":4\.5\} would be approved instead: the grant grt_.* is for that, once\./,
    );
  });

  it('asks whether they may still approve at the risk that is required by then', async () => {
    const other = await createTestApp({});
    try {
      await createAgent(other, { name: 'bot', capabilities: ['pay'] });
      await createAgent(other, { name: 'ann', kind: 'human', roles: ['finance'] });
      const required = async (version: string, riskLevel: string): Promise<unknown> => {
        const approval = { approvers: [{ subjects: ['role:finance'] }], riskLevel, grant: { for: 'PT1H' } };
        return createPolicy(other, { name: 'asks', version, effect: 'require_approval', approval });
      };
      const ask = async (): Promise<Parsed> => {
        const body = { action: 'pay', resourceType: 'bill', resourceId: 'a', parameters: {} };
        return (await send(other, 'POST', '/api/v1/agents/bot/execute', { body })).body;
      };
      await required('1', 'high');
      const first = await ask();
      const body = { approverId: 'ann', grant: { for: 'PT1H' } };
      await send(other, 'POST', `/api/v1/decisions/${first.decisionId}/approve`, { body });
      await send(other, 'POST', `/api/v1/executions/${first.id}/resume`);
      await createPolicy(other, {
        ...{ name: 'never high', effect: 'deny', subjects: ['agent:ann'] },
        ...{ actions: ['decision:approve'], resources: ['decisions/high/*'] },
      });
      await required('2', 'low');
      const served = await ask();
      await required('3', 'high');
      const waiting = await ask();
      expect([served.outcome, waiting.outcome]).toEqual(['authorized', 'pending_approval']);
      const { publicKey: key, log } = await keyAndLog(other);
      for (const execution of [served, waiting]) {
        const { exitCode, output } = await verifyFile(await decisionFileOf(other, execution), key, log);
        expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
      }
      const changed = forge(await decisionFileOf(other, served), ({ policies, entries }) => {
        for (const { name, version, approval } of policies)
          if (name === 'asks') approval.riskLevel = version === '1' ? 'low' : 'high';
        for (const { subjectType, action, state, audit } of entries) {
          if (subjectType === 'decision') state.riskLevel = 'low';
          if (action === 'decision.proposed') audit.details.riskLevel = 'low';
        }
      });
      const forged = await verifyFile(changed.text, changed.publicKey);
      expect(forged.output).toMatch(/its reviewers could not approve this any more/);
    } finally {
      await other.close();
    }
  });

  const CHANGES: Record<string, [of: () => Parsed, action: string, change: (entry: Parsed) => void, fault: RegExp]> = {
    'another agent': [
      () => granted,
      'grant.created',
      ({ state }) => (state.agentId = 'agt_other'),
      /agentId that the grant is for/,
    ],
    'other resources': [
      () => granted,
      'grant.created',
      ({ state }) => (state.resources = ['small/*']),
      /not for this resource/,
    ],
    'a longer time': [
      () => granted,
      'grant.created',
      ({ state }) => (state.until = '2099-01-01T00:00:00.000Z'),
      /the end of the grant/,
    ],
    'more uses': [() => granted, 'grant.created', ({ state }) => (state.uses = null), /the uses of the grant/],
    'an end before': [
      () => granted,
      'grant.created',
      ({ state }) => (state.until = '2020-01-01T00:00:00.000Z'),
      /the grant had ended/,
    ],
    'a status': [() => granted, 'grant.created', ({ state }) => (state.status = 'revoked'), /the status of the grant/],
    'other parameters': [
      () => instead,
      'grant.created',
      ({ state }) => (state.parametersHash = 'a'.repeat(64)),
      /the parameters of the grant/,
    ],
    'another principal': [
      () => instead,
      'grant.created',
      ({ state }) => (state.onBehalfOf = 'user:1'),
      /on whose behalf/,
    ],
    'less allowed': [
      () => granted,
      'decision.proposed',
      ({ state }) => (state.grant.wider = false),
      /grant, which this entry does not change|does not allow such a grant/,
    ],
    'one grant of two': [
      () => granted,
      'decision.approved',
      ({ state }) => delete state.reviews[1].grant,
      /did not all give the same/,
    ],
    'another that served': [
      () => granted,
      'execution.authorized',
      ({ audit }) => (audit.details.grantId = 'grt_other'),
      /details\.grantId/,
    ],
    'nobody who gave it': [
      () => granted,
      'execution.authorized',
      ({ audit }) => delete audit.details.approvers,
      /whose reviews counted/,
    ],
  };

  it.each(Object.keys(CHANGES))('finds %s', async (name) => {
    const [of, action, change, fault] = CHANGES[name] ?? [() => granted, '', () => undefined, /$^/];
    const { text, publicKey: key } = forge(await decisionFileOf(app, of()), (file) => {
      for (const entry of file.entries) if (entry.action === action) change(entry);
    });
    const { exitCode, output } = await verifyFile(text, key);
    expect({ exitCode, output }).toMatchObject({ exitCode: 1, output: expect.stringMatching(fault) });
  });

  it('finds a reviewer who could no longer approve, and rules that allow no such grant', async () => {
    const changed = async (change: (file: Parsed) => void): Promise<string> => {
      const { text, publicKey: key } = forge(await decisionFileOf(app, granted), change);
      return (await verifyFile(text, key)).output;
    };
    const suspended = await changed(({ entries }) => {
      for (const { subjectType, state } of entries)
        if (subjectType === 'agent' && state.name === 'ben') state.status = 'suspended';
    });
    expect(suspended).toMatch(/could not approve this any more/);
    const shorter = await changed(({ policies }) => {
      for (const policy of policies) if (policy.name === 'two') policy.approval.grant.uses = 4;
    });
    expect(shorter).toMatch(/DIFFERS|INVALID/);
  });

  it('an erased decision leaves no file of what its grant authorised', async () => {
    const { body } = await send(app, 'GET', `/api/v1/grants/${granted.grantId}`);
    const subjects = [{ type: 'decision', id: body.decisionId }];
    await send(app, 'POST', `/api/v1/executions/${granted.id}/result`, { body: { outcome: 'executed' } });
    const begun = await send(app, 'POST', '/api/v1/erasures', { body: { subjects, reason: 'asked for' } });
    expect(begun.status).toBe(201);
    expect((await send(app, 'GET', `/api/v1/executions/${granted.id}/evidence`)).status).toBe(410);
    expect((await send(app, 'GET', `/api/v1/executions/${instead.id}/evidence`)).status).toBe(200);
  });
});
