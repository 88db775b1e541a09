import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { canonicalHash } from '../verification/recompute-chain';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

const RECOMPUTED = /\nRECOMPUTED: authorized as recorded\n$/;
const NOT_RECOMPUTED = /\n(?:DIFFERS|INVALID): .*\n$/;
/** An execution that names other policies than decided. */
const OTHER_POLICIES = /DIFFERENCE entry \d+: the deciding policies is recorded as/;
const NOBODY = 'agt_01M8GXKYS9AAYGA38BW7HT1BT3';

describe('The verifier, on uses that other policies, agents or principals hide', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    const bot = await createAgent(app, { name: 'bot', capabilities: ['*'] });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
    const limits = [{ max: 100, of: '/amount', per: 'day', by: 'policy' }];
    await createPolicy(app, { name: 'spend', actions: ['pay'], limits });
    const free: Parsed[] = [];
    for (let index = 0; index < 10; index++)
      free.push(await createPolicy(app, { name: `free${index}`, actions: ['pay'], resources: ['b'] }));
    await createPolicy(app, { name: 'late', actions: ['pay'], limits });
    const others: Parsed[] = [];
    for (let index = 0; index < 10; index++)
      others.push(await createPolicy(app, { name: `other${index}`, actions: ['pay'], subjects: ['role:nobody'] }));
    const forbid = await createPolicy(app, { name: 'forbid', effect: 'deny', actions: ['pay'], resources: ['vault'] });
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    const required = { effect: 'require_approval', actions: ['pay'], resources: ['safe'], approval };
    const ask = await createPolicy(app, { name: 'ask', ...required });
    const low = await createPolicy(app, { name: 'low', actions: ['*'], priority: -1 });
    const conditions = [{ earlier: 'pay', within: 'P1D', op: 'exists', value: true }];
    await createPolicy(app, { name: 'ship', actions: ['ship'], conditions, limits });
    const clock = [{ clock: 'Europe/Berlin', op: 'between', value: ['00:00', '24:00'] }];
    await createPolicy(app, { name: 'book', actions: ['book'], conditions: clock, limits });
    await createPolicy(app, { name: 'lend', actions: ['lend'], limits: [{ max: 5, per: 'day', by: 'agent' }] });
    await createPolicy(app, { name: 'call', actions: ['call'], limits: [{ max: 5, per: 'day', by: 'request' }] });
    const minutes = (from: number): string => new Date(Date.now() + from * 60_000).toISOString().slice(11, 16);
    const now = [{ clock: 'UTC', op: 'between', value: [minutes(-30), minutes(30)] }];
    await createPolicy(app, { name: 'edge', actions: ['edge'], conditions: now, limits });
    const execute = async (action: string, amount: number, onBehalfOf?: object): Promise<Parsed> => {
      const body = {
        action,
        resourceType: 'bill',
        resourceId: 'b',
        parameters: { amount },
        ...(onBehalfOf && { onBehalfOf }),
      };
      return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
    };
    const executions: Record<string, Parsed[]> = {};
    for (const action of ['pay', 'ship', 'book', 'edge', 'lend', 'call'])
      executions[action] = [await execute(action, 30), await execute(action, 30)];
    for (const { outcome } of Object.values(executions).flat()) expect(outcome).toBe('authorized');
    return { app, bot, executions, free, others, forbid, ask, low, ...(await keyAndLog(app)) };
  });

  /** Forges the first of two executions, which said that it used 80, and the second, which uses 30 more of 100. */
  async function forged(action: string, change: (earlier: Parsed, later: Parsed) => void): Promise<string> {
    const text = await decisionFileOf(stage.app, stage.executions[action]?.[1] as { id: string });
    const { log, publicKey, ...file } = forgeLog({ text, log: stage.log }, (entries) => {
      const [earlier, later] = entries.filter(
        (entry) => entry.action === 'execution.authorized' && entry.state.action === action,
      );
      change(earlier, later);
      earlier.state.actionHash = hashOfRequest(earlier.state);
      return entries;
    });
    return (await verifyFile(file.text, publicKey, log)).output;
  }
  function hashOfRequest({ agentId, action, resourceType, resourceId, parameters, onBehalfOf }: Parsed): string {
    const principal = onBehalfOf === undefined ? {} : { onBehalfOf };
    return canonicalHash({ agentId, action, resourceType, resourceId, parameters, ...principal });
  }
  function name({ state, audit }: Parsed, policies: readonly Parsed[]): void {
    audit.details.policies = policies.map(({ id, name: policyName, version }) => ({ id, name: policyName, version }));
    state.policies = policies.map(({ id, name: policyName, version, effect }) => ({
      id,
      name: policyName,
      version,
      effect,
    }));
  }
  function hide(earlier: Parsed, later: Parsed): void {
    earlier.state.parameters.amount = 80;
    delete earlier.audit.details.used;
    for (const use of later.audit.details.used) use.before = '0';
  }

  it('recomputes them as they were, and sealed anew', async () => {
    const { app, executions, publicKey, log } = stage;
    for (const [action, [, later]] of Object.entries(executions)) {
      expect((await verifyFile(await decisionFileOf(app, later as { id: string }), publicKey, log)).output).toMatch(
        RECOMPUTED,
      );
      expect(await forged(action, () => undefined)).toMatch(RECOMPUTED);
    }
  });

  it.each<[by: string, fault: RegExp, change: (earlier: Parsed, later: Parsed) => void]>([
    ['ten policies that do not match it', OTHER_POLICIES, (earlier) => name(earlier, stage.others)],
    ['nine policies that do not match it', OTHER_POLICIES, (earlier) => name(earlier, stage.others.slice(1))],
    ['ten policies that match it, and not the oldest one', OTHER_POLICIES, (earlier) => name(earlier, stage.free)],
    ['one of a lower priority', OTHER_POLICIES, (earlier) => name(earlier, [stage.low])],
    ['the same policy ten times', OTHER_POLICIES, (earlier) => name(earlier, Array<Parsed>(10).fill(stage.free[0]))],
    ['a policy that was not in force', OTHER_POLICIES, (earlier) => name(earlier, [{ ...stage.low, id: 'pol_0' }])],
    [
      'one that forbids it',
      /the effect is recorded as "allow", and computed as "deny"/,
      (earlier) => {
        earlier.state.resourceId = earlier.audit.details.resourceId = 'vault';
        name(earlier, [stage.forbid]);
      },
    ],
    [
      'one that requires an approval, and no grant that the log has',
      /has no entry of the grant grt_01M8GXKYS9AAYGA38BW7HT1BT3 and its decision before it/,
      (earlier) => {
        earlier.state.resourceId = earlier.audit.details.resourceId = 'safe';
        earlier.state.grantId = earlier.audit.details.grantId = 'grt_01M8GXKYS9AAYGA38BW7HT1BT3';
        name(earlier, [stage.ask]);
      },
    ],
  ])(
    'finds a limit that was exceeded, behind an execution that says it was allowed by %s',
    async (_by, fault, change) => {
      const output = await forged('pay', (earlier, later) => {
        hide(earlier, later);
        change(earlier, later);
      });
      expect(output).toMatch(fault);
      expect(output).toMatch(NOT_RECOMPUTED);
    },
  );

  it('finds one behind the digest of equal requests that begins as the id of an agent does', async () => {
    const output = await forged('call', (earlier, later) => {
      delete earlier.audit.details.used;
      name(earlier, [stage.low]);
      Object.assign(later.audit.details.used[0], { key: `agt_${'x'.repeat(39)}`, before: '0' });
    });
    expect(output).toMatch(OTHER_POLICIES);
    expect(output).toMatch(NOT_RECOMPUTED);
  });

  it.each(['bot_01M8HZ30F1BQ9HNKPZN22HYCC1', `agt_${'x'.repeat(39)}`])(
    'finds one of an agent with the id %s, which looks like a digest',
    async (agentId) => {
      const text = await decisionFileOf(stage.app, stage.executions['lend']?.[1] as { id: string });
      const { log, publicKey, ...file } = forgeLog({ text, log: stage.log }, (entries) => {
        const [earlier, later] = entries.filter(({ state }) => state?.action === 'lend');
        delete earlier.audit.details.used;
        name(earlier, [stage.low]);
        later.audit.details.used[0].before = '0';
        const renamed: Parsed[] = JSON.parse(JSON.stringify(entries).replaceAll(stage.bot.id, agentId));
        for (const { state } of renamed) if (state?.actionHash !== undefined) state.actionHash = hashOfRequest(state);
        return renamed;
      });
      const { output } = await verifyFile(file.text, publicKey, log);
      expect(output).toMatch(/FAULT .*agent\.created of the id .*, which no agent has/);
      expect(output).toMatch(/\nINVALID: .*\n$/);
    },
  );

  it('finds that a policy was not used which is younger than the ten that are named', async () => {
    const output = await forged('pay', ({ audit }, later) => {
      audit.details.used.pop();
      later.audit.details.used[1].before = '0';
    });
    expect(output).toMatch(/DIFFERENCE entry \d+: details\.used is recorded as/);
    expect(output).toMatch(NOT_RECOMPUTED);
  });

  it.each<[who: string, fault: RegExp, change: (earlier: Parsed) => void]>([
    [
      'on behalf of an agent that nobody has created',
      /the file has no entry of the person agent:agt_\w+ at revision 1/,
      ({ state, audit }) => {
        state.onBehalfOf = { subject: `agent:${NOBODY}` };
        audit.details.principalRevision = 1;
      },
    ],
    [
      'on behalf of a machine',
      /the kind of the person is recorded as null, and computed as "human"/,
      ({ state, audit }) => {
        state.onBehalfOf = { subject: `agent:${state.agentId}` };
        audit.details.principalRevision = 1;
      },
    ],
    [
      'by an agent that nobody has created',
      /the file has no entry of the agent agt_\w+ at revision 1/,
      ({ state, audit }) => (state.agentId = audit.agentId = NOBODY),
    ],
  ])('finds a limit that was exceeded, behind an execution %s', async (_who, fault, change) => {
    const output = await forged('pay', (earlier, later) => {
      hide(earlier, later);
      name(earlier, [stage.low]);
      change(earlier);
    });
    expect(output).toMatch(fault);
    expect(output).toMatch(NOT_RECOMPUTED);
  });

  it('finds an execution that does not say what was found for the conditions of a policy with limits', async () => {
    const output = await forged('ship', (earlier, later) => {
      hide(earlier, later);
      name(earlier, [stage.low]);
      delete earlier.audit.details.earlier;
    });
    expect(output).toMatch(/DIFFERENCE entry \d+: details\.earlier is recorded as/);
    expect(output).toMatch(NOT_RECOMPUTED);
  });

  it('finds an execution that says that such a condition did not hold', async () => {
    const output = await forged('ship', (earlier, later) => {
      hide(earlier, later);
      name(earlier, [stage.low]);
      earlier.audit.details.earlier[0].executionId = null;
    });
    expect(output).toMatch(/DIFFERENCE entry \d+: exe_\w+ had been authorized before within P1D/);
    expect(output).toMatch(NOT_RECOMPUTED);
  });

  it.each(['2020a', undefined])('finds one behind a clock by the time zones %s', async (zones) => {
    const output = await forged('book', (earlier, later) => {
      hide(earlier, later);
      name(earlier, [stage.low]);
      earlier.audit.details.zones = zones;
    });
    expect(output).toMatch(OTHER_POLICIES);
    expect(output).toMatch(NOT_RECOMPUTED);
  });

  it('does not decide about one for which an hour between the time zones decides', async () => {
    const output = await forged('edge', (earlier, later) => {
      hide(earlier, later);
      name(earlier, [stage.low]);
      earlier.audit.details.zones = '2020a';
    });
    expect(output).toMatch(/MISSING .*the clock was read for exe_\w+ by time zones of another version/);
    expect(output).toMatch(/\nUNDECIDED: .*\n$/);
  });

  it('finds that an older policy was used than the ten that are named', async () => {
    const output = await forged('pay', (earlier) => name(earlier, stage.free));
    expect(output).toMatch(/FAULT .*details\.used names other limits than the policies that allowed it have/);
  });

  it('finds limits of a form by which their windows could not be checked', async () => {
    const text = await decisionFileOf(stage.app, stage.executions['pay']?.[1] as { id: string });
    const { log, publicKey, ...file } = forgeLog({ text, log: stage.log }, (entries) => {
      for (const { state } of entries) if (state?.name === 'spend') state.limits[0].per = 'Day';
      return entries;
    });
    const { output } = await verifyFile(file.text, publicKey, log);
    expect(output).toMatch(/FAULT .*the limits of the policy have another form/);
  });

  it.each<[use: string, fault: RegExp, change: (use: Parsed, earlier: Parsed) => void]>([
    [
      'of no amount',
      /has a use of spend \[0\] that exceeds it/,
      (use, { state }) => (use.amount = state.parameters.amount = null),
    ],
    ['of more than the limit', /has a use of spend \[0\] that exceeds it/, (use) => (use.amount = '101')],
  ])('finds a use %s', async (_use, fault, change) => {
    const output = await forged('pay', (earlier) => change(earlier.audit.details.used[0], earlier));
    expect(output).toMatch(fault);
    expect(output).toMatch(NOT_RECOMPUTED);
  });
});
