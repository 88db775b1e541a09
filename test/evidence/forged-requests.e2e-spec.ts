import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { reviewer } from '../support/application/signers';
import { stageOf } from '../support/application/stage';
import { canonicalHash } from '../verification/recompute-chain';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

const RECOMPUTED = /\nRECOMPUTED: \w+ as recorded\n$/;
const DIFFERS = /\nDIFFERS: .*\n$/;
/** The chain finds it as well. */
const REFUSED = /\n(?:DIFFERS|INVALID): .*\n$/;
type Change = (entries: Parsed[], ids: Set<string>) => Parsed[];

describe('The verifier, on requests that the holder of the signing key writes', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { RATE_LIMIT: '100000' } });
    const post = async (path: string, body: object = {}, more = {}): Promise<Parsed> =>
      (await send(app, 'POST', `/api/v1${path}`, { body, ...more })).body;
    const bot = await createAgent(app, { name: 'bot', capabilities: ['*'] });
    const { secret: key } = await issueKey(app, { agentId: bot.id, scopes: ['execute'] });
    const eve = await reviewer(app, 'eve', ['finance']);
    const approval = { approvers: [{ subjects: ['role:finance'] }], grant: { for: 'PT1H', uses: 5 } };
    await createPolicy(app, { name: 'free', actions: ['look'], resources: ['r/*'] });
    await createPolicy(app, { name: 'plain', effect: 'require_approval', actions: ['ask', 'fetch'], approval });
    await createPolicy(app, { name: 'low', actions: ['*'], resources: ['g'], priority: -1 });
    await createPolicy(app, { name: 'sends', actions: ['send'] });
    const conditions = [{ earlier: 'fetch', within: 'PT4H', op: 'exists', value: true }];
    await createPolicy(app, { name: 'no-send', effect: 'deny', actions: ['send'], priority: 9, conditions });
    const execute = (action: string, resourceId: string, more: object = {}): Promise<Parsed> =>
      post('/agents/bot/execute', { action, resourceType: 'o', resourceId, parameters: {}, ...more }, { key });
    const approve = (decision: string, body: object = {}): Promise<Parsed> =>
      post(`/decisions/${decision}/approve`, body, { key: eve.key });
    const sent = await execute('send', 'm');
    const look = await execute('look', 'r/1');
    await post(`/executions/${look.id}/result`, { outcome: 'executed', result: {} }, { key });
    const rejected = await execute('ask', 'r1');
    await post(`/decisions/${rejected.decisionId}/reject`, { comment: 'No' }, { key: eve.key });
    const resumed = await execute('ask', 'r2');
    await approve(resumed.decisionId);
    await post(`/executions/${resumed.id}/resume`, {}, { key });
    const giving = await execute('ask', 'g');
    await approve(giving.decisionId, { grant: { for: 'PT1H', uses: 1 } });
    const served = await execute('ask', 'g', { run: 'another' });
    const fetched = await execute('fetch', 'x');
    await approve(fetched.decisionId);
    await post('/agents/bot/suspend', { reason: 'Odd.' });
    expect([served.grantId, served.outcome]).toEqual([expect.any(String), 'authorized']);
    return { app, bot, eve, sent, look, rejected, resumed, giving, served, fetched, ...(await keyAndLog(app)) };
  });

  async function forged({ id }: Parsed, change: Change): Promise<string> {
    const text = await decisionFileOf(stage.app, { id });
    const { log, publicKey, ...file } = forgeLog({ text, log: stage.log }, change);
    return (await verifyFile(file.text, publicKey, log)).output;
  }
  async function withoutExport({ id }: Parsed, change: Change): Promise<string> {
    const text = await decisionFileOf(stage.app, { id });
    const { publicKey, ...file } = forgeLog({ text, log: stage.log }, change);
    return (await verifyFile(file.text, publicKey)).output;
  }
  function entryOf(entries: readonly Parsed[], action: string, { id }: Parsed): Parsed {
    const entry = entries.find((one) => one.action === action && one.subjectId === id);
    if (entry === undefined) throw new Error(`There is no ${action} of ${id}.`);
    return entry;
  }
  let copies = 0;
  function copy(entry: Parsed): Parsed {
    copies += 1;
    const copied = structuredClone(entry);
    copied.id = `${copied.id.slice(0, -3)}ZZ${copies}`;
    copied.auditId = copied.audit.id = `${copied.auditId.slice(0, -3)}ZZ${copies}`;
    return copied;
  }
  /** Moves an entry before another one, at its time. */
  function move(entries: readonly Parsed[], entry: Parsed, before: Parsed): Parsed[] {
    const others = entries.filter((one) => one !== entry);
    entry.timestamp = before.timestamp;
    return others.flatMap((one) => (one === before ? [entry, one] : [one]));
  }
  function hashOf({ agentId, action, resourceType, resourceId, parameters, onBehalfOf }: Parsed): string {
    return canonicalHash({ agentId, action, resourceType, resourceId, parameters, ...(onBehalfOf && { onBehalfOf }) });
  }
  /** Gives all entries of an execution other members. */
  function request(entries: Parsed[], { id }: Parsed, members: object): Parsed[] {
    for (const { subjectId, state, audit } of entries) {
      if (subjectId !== id) continue;
      Object.assign(state, members);
      const { resourceType, resourceId, action } = state;
      Object.assign(audit.details, { resourceType, resourceId, action });
      state.actionHash = hashOf(state);
    }
    return entries;
  }

  it('recomputes them as they were, and sealed anew', async () => {
    const { sent, look, rejected, resumed, giving, served, fetched } = stage;
    for (const execution of [sent, look, rejected, resumed, giving, served, fetched])
      expect(await forged(execution, (entries) => entries)).toMatch(RECOMPUTED);
  });

  it.each([
    'r/../secret/1',
    'r//x',
    'r/%2e%2e/secret',
    'r/a?b',
    'r/\u202e1',
    'r/1 ',
    'r/a%2Fb',
    `r/${'a'.repeat(500)}`,
    `r/${'\u0301'.repeat(31)}`,
  ])('finds a resource that no request can name: %j', async (resourceId) => {
    const output = await forged(stage.look, (entries) => request(entries, stage.look, { resourceId }));
    expect(output).toMatch(/the resource is not spelled as one can be/);
    expect(output).toMatch(DIFFERS);
  });

  it.each([
    [{ resourceType: 'o/p' }, /the resource type is not spelled as one can be/],
    [{ resourceType: '..' }, /the resource type is not spelled as one can be/],
    [{ action: 'look'.repeat(26) }, /the action is not spelled as one can be/],
    [{ onBehalfOf: { subject: 'role:finance' } }, /the principal is in no form that one can have/],
    [{ run: 'a\u202eb' }, /the run is in no form that one can have/],
    [{ via: 'A/b' }, /via names no upstream/],
    [{ parameters: [] }, /the parameters are no object/],
  ])('finds a request that there cannot be: %j', async (members, fault) => {
    const output = await forged(stage.look, (entries) => request(entries, stage.look, members));
    expect(output).toMatch(fault);
    expect(output).toMatch(DIFFERS);
  });

  it('finds a request that there cannot be among those that the file does not have', async () => {
    const output = await forged(stage.resumed, (entries) =>
      request(entries, stage.look, { resourceId: 'r/../secret/1' }),
    );
    expect(output).toMatch(/DIFFERENCE entry \d+: the resource is not spelled as one can be/);
    expect(output).toMatch(DIFFERS);
  });

  it.each([
    ['the file of the approved one', 'giving'],
    ['the file of the one that the grant served', 'served'],
  ] as const)(
    'finds an approval that was used although its grant had served the same request: %s',
    async (_file, name) => {
      const change: Change = (entries, ids) => {
        const cancelled = entryOf(entries, 'execution.cancelled', stage.giving);
        const approved = entryOf(entries, 'execution.approved', stage.giving);
        const again = copy(entryOf(entries, 'execution.resumed', stage.resumed));
        again.subjectId = again.audit.subjectId = stage.giving.id;
        again.state = { ...structuredClone(approved.state), outcome: 'authorized' };
        Object.assign(again.audit.details, { resourceId: 'g', decisionId: stage.giving.decisionId });
        again.timestamp = cancelled.timestamp;
        ids.delete(cancelled.id);
        ids.add(again.id);
        return entries.map((entry) => (entry === cancelled ? again : entry));
      };
      const output = await forged(stage[name], change);
      expect(output).toMatch(/was not cancelled when exe_\w+ authorised the same action without it/);
      expect(output).toMatch(DIFFERS);
      if (name === 'served') expect(await withoutExport(stage[name], change)).toMatch(DIFFERS);
    },
  );

  it('finds a request that went on waiting after a grant had served it', async () => {
    const output = await forged(stage.giving, (entries, ids) => {
      const cancelled = entryOf(entries, 'execution.cancelled', stage.giving);
      ids.delete(cancelled.id);
      return entries.filter((entry) => entry !== cancelled);
    });
    expect(output).toMatch(/was not cancelled when exe_\w+ authorised the same action without it/);
    expect(output).toMatch(DIFFERS);
  });

  const ofRejected = ({ subjectId }: Parsed): boolean =>
    [stage.rejected.id, stage.rejected.decisionId].includes(subjectId);
  it.each<[how: string, change: Change]>([
    ['of its own', (entries) => entries],
    [
      'behind another actionHash',
      (entries) => {
        for (const { state } of entries.filter(ofRejected)) state.actionHash = stage.rejected.actionHash;
        return entries;
      },
    ],
    [
      'behind another proposer',
      (entries) => {
        for (const { subjectType, state } of entries.filter(ofRejected))
          if (subjectType === 'decision') state.proposedBy = stage.eve.agent.id;
        return entries;
      },
    ],
    [
      'behind an early end',
      (entries) => {
        const { state } = entryOf(entries, 'decision.rejected', { id: stage.rejected.decisionId });
        state.expiresAt = state.createdAt;
        return entries;
      },
    ],
    ['without the entry of the decision', (entries) => entries.filter(({ action }) => action !== 'decision.rejected')],
    [
      'without the entry of the execution',
      (entries) => entries.filter(({ action }) => action !== 'execution.rejected'),
    ],
  ])('finds a rejection that held, %s', async (_how, change) => {
    const output = await forged(stage.resumed, (entries) => {
      request(entries, stage.rejected, { resourceId: 'r2' });
      for (const { state, subjectType } of entries.filter(ofRejected))
        if (subjectType === 'decision') {
          state.actionHash = stage.resumed.actionHash;
          state.title = 'bot: ask on o/r2';
        }
      return change(entries, new Set());
    });
    expect(output).toMatch(/the rejection of the same action by dec_\w+ held/);
    expect(output).toMatch(REFUSED);
  });

  /** Adds an execution of the request before the grant served it, which says that no grant did. */
  function usedBefore(entries: Parsed[], change: (entry: Parsed) => void): Parsed[] {
    const use = entryOf(entries, 'execution.authorized', stage.served);
    const earlier = copy(use);
    earlier.subjectId = earlier.audit.subjectId = earlier.state.id = `${use.subjectId.slice(0, -3)}ZZZ`;
    delete earlier.state.grantId;
    delete earlier.audit.details.grantId;
    change(earlier);
    return move([...entries, earlier], earlier, use);
  }
  it('finds an earlier use of a grant that says that its policy needed none', async () => {
    const output = await forged(stage.served, (entries) => usedBefore(entries, () => undefined));
    expect(output).toMatch(/the effect is recorded as "allow", and computed as "require_approval"/);
    expect(output).toMatch(DIFFERS);
  });

  it.each<[grant: string, id: () => string, add: (entries: Parsed[], id: string) => Parsed[]]>([
    ['that was never made', () => 'grt_01M8GXKYS9AAYGA38BW7HT1BT3', (entries) => entries],
    [
      'that somebody was refused',
      () => 'grt_01M8GXKYS9AAYGA38BW7HT1BT3',
      (entries, id) => {
        const refused = copy(entryOf(entries, 'execution.authorized', stage.look));
        Object.assign(refused, { action: 'access.denied', subjectType: 'grant', subjectId: id, state: null });
        refused.stateHash = refused.salts.state = null;
        Object.assign(refused.audit, { action: 'access.denied', subjectType: 'grant', subjectId: id, details: {} });
        return move([...entries, refused], refused, entryOf(entries, 'execution.authorized', stage.look));
      },
    ],
  ])('finds an earlier use of a grant that names one %s', async (_grant, id, add) => {
    const output = await forged(stage.served, (entries) =>
      usedBefore(add(entries, id()), ({ state, audit }) => {
        state.grantId = audit.details.grantId = id();
      }),
    );
    expect(output).toMatch(/has no entry of the grant grt_01M8GXKYS9AAYGA38BW7HT1BT3 and its decision before it/);
    expect(output).toMatch(REFUSED);
  });

  it('finds an earlier use of a grant that says that a policy of a lower priority sufficed', async () => {
    const output = await forged(stage.served, (entries) =>
      usedBefore(entries, ({ state, audit }) => {
        const { state: policy } = entries.find((entry) => entry.state?.name === 'low');
        const { id, name, version, effect } = policy;
        state.policies = [{ id, name, version, effect }];
        audit.details.policies = [{ id, name, version }];
      }),
    );
    expect(output).toMatch(
      /DIFFERENCE entry \d+: the effect is recorded as "allow", and computed as "require_approval"/,
    );
    expect(output).toMatch(DIFFERS);
  });

  it('finds an approved action that was resumed as another one', async () => {
    const output = await forged(stage.sent, (entries) => {
      const before = entryOf(entries, 'execution.authorized', stage.sent);
      const own = entries.filter(({ subjectId }) => [stage.fetched.id, stage.fetched.decisionId].includes(subjectId));
      const moved = own.reduce((all, entry) => move(all, entry, before), entries);
      const { state } = own.at(-1);
      const as = copy(entryOf(entries, 'execution.resumed', stage.resumed));
      as.subjectId = as.audit.subjectId = stage.fetched.id;
      as.state = { ...structuredClone(state), outcome: 'authorized', action: 'look' };
      Object.assign(as.audit.details, { action: 'look', resourceId: 'x', decisionId: stage.fetched.decisionId });
      return move([...moved, as], as, before);
    });
    expect(output).toMatch(/has other members than before, which never change/);
    expect(output).toMatch(REFUSED);
  });

  it('finds a result that was reported with a key of a suspended agent', async () => {
    const output = await forged(stage.look, (entries) => {
      const suspended = entryOf(entries, 'agent.suspended', stage.bot);
      const moved = move(entries, suspended, entryOf(entries, 'execution.completed', stage.look));
      suspended.state.updatedAt = suspended.timestamp;
      return moved;
    });
    expect(output).toMatch(/which reported the result, is bound to agt_\w+, who was suspended/);
    expect(output).toMatch(DIFFERS);
  });
});
