import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { canonicalHash } from '../verification/recompute-chain';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

const RECOMPUTED = /\nRECOMPUTED: authorized as recorded\n$/;
const NOT_RECOMPUTED = /\n(?:DIFFERS|INVALID|UNDECIDED): .*\n$/;

describe('The verifier, on uses that the holder of the signing key hides', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['pay', 'call', 'refund'] });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
    const daily = { max: 100, of: '/amount', per: 'day' };
    const limits = [
      { ...daily, by: 'agent' },
      { ...daily, by: 'policy', zone: 'Asia/Kathmandu' },
    ];
    await createPolicy(app, { name: 'spend', actions: ['pay'], limits });
    await createPolicy(app, { name: 'call', actions: ['call'], limits: [{ max: 5, per: 'month', by: 'request' }] });
    const approval = { approvers: [{ subjects: ['role:finance'] }], grant: { for: 'P1D', uses: 1 } };
    const refund = await createPolicy(app, {
      name: 'refund',
      effect: 'require_approval',
      actions: ['refund'],
      approval,
    });
    const execute = async (action: string, parameters = {}): Promise<Parsed> => {
      const body = { action, resourceType: 'bill', resourceId: 'b', parameters };
      return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
    };
    const paid = [await execute('pay', { amount: 30 }), await execute('pay', { amount: 30 })];
    const last = await execute('pay', { amount: 30 });
    const calls = [await execute('call', { to: 'a' }), await execute('call', { to: 'a' })];
    const otherCall = await execute('call', { to: 'b' });
    const { id, decisionId } = await execute('refund');
    const body = { approverId: 'ann', grant: { for: 'P1D', uses: 1 } };
    await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { body });
    await send(app, 'POST', `/api/v1/executions/${id}/resume`);
    const granted = await execute('refund');
    for (const { outcome } of [...paid, last, ...calls, otherCall, granted]) expect(outcome).toBe('authorized');
    return { app, paid, last, calls, otherCall, granted, refund, ...(await keyAndLog(app)) };
  });

  async function forged(execution: Parsed, change: (entries: Parsed[]) => void): Promise<string> {
    const text = await decisionFileOf(stage.app, execution as { id: string });
    const { log, publicKey, ...file } = forgeLog({ text, log: stage.log }, (entries) => {
      change(entries);
      return entries;
    });
    return (await verifyFile(file.text, publicKey, log)).output;
  }
  const authorizations = (entries: Parsed[], action: string): Parsed[] =>
    entries.filter((entry) => entry.action === 'execution.authorized' && entry.state.action === action);
  /** Gives a request other parameters. */
  function request({ state }: Parsed, parameters: object): void {
    state.parameters = parameters;
    const { agentId, action, resourceType, resourceId } = state;
    state.actionHash = canonicalHash({ agentId, action, resourceType, resourceId, parameters });
  }
  const usesIn = (entries: Parsed[]): Parsed[] => entries.flatMap(({ audit }) => audit.details.used ?? []);

  it('recomputes them as they were, and sealed anew', async () => {
    const { app, last, calls, otherCall, granted, publicKey, log } = stage;
    for (const execution of [last, ...calls, otherCall, granted]) {
      expect((await verifyFile(await decisionFileOf(app, execution), publicKey, log)).output).toMatch(RECOMPUTED);
      expect(await forged(execution, () => undefined)).toMatch(RECOMPUTED);
    }
  });

  it.each<[how: string, fault: RegExp, hide: (earlier: Parsed[], last: Parsed) => void]>([
    [
      'that name no use',
      /details\.used names other limits than the policies that allowed it have/,
      (earlier) => earlier.forEach(({ audit }) => delete audit.details.used),
    ],
    [
      'that leave out one limit',
      /details\.used names other limits than the policies that allowed it have/,
      (earlier) => earlier.forEach(({ audit }) => audit.details.used.shift()),
    ],
    [
      'that name a limit twice',
      /details\.used names other limits than the policies that allowed it have/,
      (earlier) => earlier.forEach(({ audit }) => (audit.details.used[0] = audit.details.used[1])),
    ],
    [
      'of another agent',
      /details\.used has a use of .* with the key "agt_0", and the entry leads to "agt_\w{26}"/,
      (earlier) => usesIn(earlier).forEach((use) => (use.key = 'agt_0')),
    ],
    [
      'of all agents',
      /details\.used has a use of .* with the key null, and the entry leads to "agt_\w{26}"/,
      (earlier) => usesIn(earlier).forEach((use) => (use.key = null)),
    ],
    [
      'of an earlier day',
      /details\.used has a use of .* with the window "2020-.*", and the entry leads to /,
      (earlier) => usesIn(earlier).forEach((use) => (use.window = '2020-11-01T00:00:00.000Z')),
    ],
    [
      'of days of the zone that begin as in UTC',
      /details\.used has a use of .* with the window .*, and the entry leads to ".*T18:15:00\.000Z"/,
      (earlier) => usesIn(earlier).forEach((use) => (use.window = use.window.replace('T18:15', 'T00:00'))),
    ],
    [
      'of nothing',
      /details\.used has a use of .* with the amount "0", and the entry leads to "90"/,
      (earlier) => usesIn(earlier).forEach((use) => (use.amount = '0')),
    ],
    [
      'of an agent whose state is of another',
      /audit\.agentId is .*, and the state has another/,
      (earlier) =>
        earlier.forEach((entry) => {
          entry.audit.agentId = 'agt_0';
          usesIn([entry]).forEach((use) => (use.key = use.key === null ? null : 'agt_0'));
        }),
    ],
    [
      'that no policy allowed, as their details say',
      /details\.policies is .*, and the state has another/,
      (earlier) => earlier.forEach(({ audit }) => Object.assign(audit.details, { policies: [], used: undefined })),
    ],
  ])('finds a limit that was exceeded, behind earlier executions %s', async (_how, fault, hide) => {
    const output = await forged(stage.last, (entries) => {
      const all = authorizations(entries, 'pay');
      for (const entry of all) request(entry, { amount: 90 });
      for (const use of usesIn(all)) Object.assign(use, { amount: '90', before: '0' });
      hide(all.slice(0, 2), all[2]);
    });
    expect(output).toMatch(fault);
    expect(output).toMatch(NOT_RECOMPUTED);
  });

  it.each<[as: string, fault: RegExp, hide: (entry: Parsed) => void]>([
    [
      'authorised by no policy',
      /DIFFERENCE entry \d+: the deciding policies is recorded as/,
      ({ state, audit }) => {
        state.policies = audit.details.policies = [];
        delete audit.details.used;
      },
    ],
    [
      'authorised by a policy that is not for it',
      /DIFFERENCE entry \d+: the deciding policies is recorded as/,
      ({ state, audit }) => {
        const { id, name, version } = stage.refund;
        state.policies = [{ id, name, version, effect: 'require_approval' }];
        audit.details.policies = [{ id, name, version }];
        delete audit.details.used;
      },
    ],
    [
      'kept from the policy by a limit',
      /the limit \[0\] of spend was not reached/,
      ({ state, audit }) => {
        state.policies = audit.details.policies = [];
        audit.details.limited = audit.details.used;
        delete audit.details.used;
      },
    ],
  ])('finds a limit that was exceeded, behind earlier executions that say they were %s', async (_as, fault, hide) => {
    const output = await forged(stage.last, (entries) => {
      const all = authorizations(entries, 'pay');
      for (const entry of all) request(entry, { amount: 90 });
      for (const use of usesIn(all)) Object.assign(use, { amount: '90', before: '0' });
      all.slice(0, 2).forEach(hide);
    });
    expect(output).toMatch(fault);
    expect(output).toMatch(NOT_RECOMPUTED);
  });

  it('finds a policy whose limits were others between', async () => {
    const output = await forged(stage.last, (entries) => {
      const at = entries.findIndex(({ action, state }) => action === 'policy.created' && state.name === 'spend');
      const again = structuredClone(entries[at]);
      Object.assign(again, { id: `${again.id}2`, action: 'policy.activated', auditId: `${again.auditId}2` });
      again.audit.id = again.auditId;
      again.state.limits = [];
      entries.splice(at + 1, 0, again);
    });
    expect(output).toMatch(/FAULT .*the name or the limits of the policy are others than before/);
    expect(output).toMatch(NOT_RECOMPUTED);
  });

  it('leaves equal requests undecided whose digests are not equal, as after a change of the key', async () => {
    const output = await forged(stage.calls[1] ?? {}, (entries) => {
      const all = authorizations(entries, 'call');
      const [use] = usesIn(all.slice(1, 2));
      use.key = `${use.key.slice(0, -4)}AAAA`;
      use.before = '0';
    });
    expect(output).toMatch(/MISSING .*the equal request exe_\w+ has another digest/);
    expect(output).toMatch(/\nUNDECIDED: .*\n$/);
  });

  it('finds unequal requests whose digests are equal', async () => {
    const output = await forged(stage.otherCall, (entries) => {
      const [first, , other] = usesIn(authorizations(entries, 'call'));
      Object.assign(other, { key: first.key, before: '2' });
    });
    expect(output).toMatch(/FAULT .*details\.used has the digest of another request/);
  });

  it.each(['agent', 'policy'])('finds a limit by %s in a window of another database of zones', async (by) => {
    const output = await forged(stage.last, (entries) => {
      const all = authorizations(entries, 'pay');
      for (const entry of all.slice(0, 2)) entry.audit.details.zones = '2020a';
      for (const use of usesIn(all.slice(0, 2)))
        if ((use.key === null) === (by === 'policy')) use.window = '2020-11-01T00:00:00.000Z';
      const [agentUse, policyUse] = usesIn(all.slice(2));
      (by === 'policy' ? policyUse : agentUse).before = '0';
    });
    expect(output).toMatch(/details\.used has a use of .* with the window "2020-/);
    expect(output).toMatch(NOT_RECOMPUTED);
  });

  it.each<[where: string, hide: (twin: Parsed) => void]>([
    ['as the state and the details say', () => undefined],
    ['as the details alone say', ({ state }) => delete state.grantId],
    ['as the state alone says', ({ audit }) => delete audit.details.grantId],
  ])('finds a grant for one use that was used twice, %s', async (_where, hide) => {
    const { granted } = stage;
    const output = await forged(granted, (entries) => {
      const at = entries.findIndex(
        ({ action, subjectId }) => action === 'execution.authorized' && subjectId === granted.id,
      );
      const twin = structuredClone(entries[at]);
      Object.assign(twin, { id: `${twin.id}2`, auditId: `${twin.auditId}2`, subjectId: `${twin.subjectId}2` });
      Object.assign(twin.audit, { id: twin.auditId, subjectId: twin.subjectId });
      twin.state.id = twin.subjectId;
      hide(twin);
      entries.splice(at, 0, twin);
    });
    expect(output).toMatch(/was used 1 times before, of 1|details\.grantId is .*, and the state has another/);
    expect(output).toMatch(NOT_RECOMPUTED);
  });
});
