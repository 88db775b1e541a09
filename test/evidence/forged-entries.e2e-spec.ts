import { randomBytes } from 'node:crypto';
import { createTestApp } from '../support/application/create-test-app';
import { addClaim, createAgent, createEntity, createPolicy, issueKey } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { reviewer } from '../support/application/signers';
import { stageOf } from '../support/application/stage';
import { canonicalHash } from '../verification/recompute-chain';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

const RECOMPUTED = /\nRECOMPUTED: \w+ as recorded\n$/;
const REFUSED = /\n(?:DIFFERS|INVALID): .*\n$/;
const GRANT = 'grt_01M8GXKYS9AAYGA38BW7HT1BT3';

/** The subject of an added entry. */
interface Written {
  readonly action: string;
  readonly subject: readonly [type: string, id: string];
  readonly state: Parsed;
  readonly agentId?: string;
  readonly details?: object;
}
type Forgery = (entries: Parsed[]) => Parsed[];

describe('The verifier, on entries that no action of the service writes', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    const post = async (path: string, body: object = {}, more = {}): Promise<Parsed> =>
      (await send(app, 'POST', `/api/v1${path}`, { body, ...more })).body;
    const bot = await createAgent(app, { name: 'bot', capabilities: ['*'] });
    const botKey = await issueKey(app, { agentId: bot.id, scopes: ['execute'] });
    const { secret: key } = botKey;
    const ann = await reviewer(app, 'ann', ['finance']);
    await createPolicy(app, { name: 'sends', actions: ['send'] });
    await createPolicy(app, { name: 'spends', actions: ['spend'], limits: [{ max: 3, per: 'day', by: 'policy' }] });
    const conditions = [{ claim: 'iban', op: 'supports', parameter: '/iban', value: 0.9 }];
    await createPolicy(app, { name: 'pays', actions: ['pay'], conditions });
    const approval = {
      approvers: [{ subjects: ['role:finance'] }],
      grant: { for: 'P1D', uses: 3, wider: true },
    };
    const buys = await createPolicy(app, { name: 'buys', effect: 'require_approval', actions: ['buy'], approval });
    const { id: entityId } = await createEntity(app);
    await addClaim(app, entityId, { predicate: 'iban', value: 'A', context: { confidence: 1 } });
    const execute = (action: string, resourceId: string, parameters = {}): Promise<Parsed> =>
      post('/agents/bot/execute', { action, resourceType: 'order', resourceId, parameters }, { key });
    const review = (decision: string, verdict: string, body: object): Promise<Parsed> =>
      post(`/decisions/${decision}/${verdict}`, body, { key: ann.key });
    const first = await execute('send', 'x');
    const paid = await execute('pay', entityId, { iban: 'A' });
    await createPolicy(app, { name: 'later', actions: ['nothing'] });
    const spent = [await execute('spend', 's1'), await execute('spend', 's2'), await execute('spend', 's3')];
    const rejected = await execute('buy', 'b2');
    await review(rejected.decisionId, 'reject', { comment: 'No' });
    const approved = await execute('buy', 'b3');
    const grant = { for: 'PT1H', uses: 2, resources: ['*'], parameters: 'any' };
    await review(approved.decisionId, 'approve', { grant });
    const granted = await execute('buy', 'b9');
    const sent = await execute('send', 'last');
    await post(`/executions/${sent.id}/result`, { outcome: 'executed', result: {} }, { key });
    await post('/stops', { actions: ['dance'], reason: 'Too loud.' });
    expect([first, paid, ...spent, granted, sent].map(({ outcome }) => outcome)).toEqual(Array(7).fill('authorized'));
    const executions: Readonly<Record<string, Parsed>> = { first, paid, third: spent[2], rejected, granted, sent };
    return { app, bot, botKey, buys, entityId, executions, ...(await keyAndLog(app)) };
  });

  async function forged(name: string, change: Forgery): Promise<string> {
    const text = await decisionFileOf(stage.app, { id: idOf(name) });
    const { log, publicKey, ...file } = forgeLog({ text, log: stage.log }, change);
    return (await verifyFile(file.text, publicKey, log)).output;
  }
  const idOf = (name: string): string => stage.executions[name]?.['id'];
  const find = (entries: Parsed[], action: string, id?: string): Parsed => {
    const entry = entries.find((one) => one.action === action && (id === undefined || one.subjectId === id));
    if (entry === undefined) throw new Error(`There is no ${action} of ${String(id)}.`);
    return entry;
  };
  let copies = 0;
  /** A new entry at the time of another one. */
  function entryAt(like: Parsed, { action, subject: [subjectType, subjectId], state, ...more }: Written): Parsed {
    copies += 1;
    const [id, auditId] = [`${like.id.slice(0, -3)}ZZ${copies}`, `${like.auditId.slice(0, -3)}ZZ${copies}`];
    const { agentId = null, details = {} } = more;
    const shared = { action, subjectType, subjectId };
    const audit = { ...like.audit, ...shared, id: auditId, agentId, entityId: null, outcome: 'success', reason: null };
    const salt = (): string => randomBytes(16).toString('base64url');
    const salts = { details: salt(), state: state === null ? null : salt() };
    return { ...like, ...shared, id, auditId, audit: { ...audit, details }, state, salts };
  }
  /** Adds entries before the first one of an execution. */
  function before(name: string, written: (entries: Parsed[], at: Parsed) => readonly Written[]): Forgery {
    return (entries) => {
      const index = entries.findIndex(({ subjectId }) => subjectId === idOf(name));
      const added = written(entries, entries[index]).map((one) => entryAt(entries[index], one));
      return entries.toSpliced(index, 0, ...added);
    };
  }
  const stopOf = (at: Parsed): Written => {
    const id = 'stp_01M8GXKYS9AAYGA38BW7HT1BT3';
    const scope = { agentId: stage.bot.id, role: null, actions: [] };
    const state = { id, ...scope, reason: 'Odd.', status: 'active', createdAt: at.timestamp, liftedAt: null };
    return { action: 'stop.created', subject: ['stop', id], state };
  };
  const otherClaim = (entries: Parsed[], at: Parsed): Written & { readonly state: Parsed } => {
    const id = 'clm_01M8GXKYS9AAYGA38BW7HT1BT3';
    const state = { ...find(entries, 'claim.added').state, id, value: 'B', createdAt: at.timestamp };
    return { action: 'claim.added', subject: ['claim', id], state };
  };
  const revocation = (entries: Parsed[], at: Parsed): Written => {
    const { id } = stage.botKey;
    const { state } = find(entries, 'api_key.created', id);
    const revoked = { ...state, status: 'revoked', revokedAt: at.timestamp };
    return { action: 'api_key.revoked', subject: ['api_key', id], state: revoked, agentId: stage.bot.id };
  };
  function rehash({ state }: Parsed): void {
    const { agentId, action, resourceType, resourceId, parameters } = state;
    state.actionHash = canonicalHash({ agentId, action, resourceType, resourceId, parameters });
  }
  /** Has the first execution do what needs an approval, by a grant that nobody gave. */
  function buyFirst(entries: Parsed[]): void {
    const own = find(entries, 'execution.authorized', idOf('first'));
    const { id, name, version, effect } = stage.buys;
    Object.assign(own.state, { action: 'buy', grantId: GRANT, policies: [{ id, name, version, effect }] });
    Object.assign(own.audit.details, { action: 'buy', grantId: GRANT, policies: [{ id, name, version }] });
    rehash(own);
  }
  /** Has the wide grant serve what was rejected. */
  function buyRejected(entries: Parsed[]): void {
    for (const entry of entries) {
      if (entry.subjectId !== idOf('granted')) continue;
      entry.state.resourceId = entry.audit.details.resourceId = 'b2';
      rehash(entry);
    }
  }
  const grantOf = (state: Parsed, type = 'grant'): Written => ({
    action: 'grant.created',
    subject: [type, GRANT],
    state,
    agentId: stage.bot.id,
  });

  it.each(['first', 'paid', 'third', 'rejected', 'granted', 'sent'])('recomputes %s as it was', async (name) => {
    expect(await forged(name, (entries) => entries)).toMatch(RECOMPUTED);
  });

  it('recomputes beside a record of a module whose kind has the name of a member of every object', async () => {
    const added = { action: 'constructor.made', subject: ['constructor', 'con_1'] as const, state: { id: 'con_1' } };
    expect(
      await forged(
        'sent',
        before('sent', () => [added]),
      ),
    ).toMatch(RECOMPUTED);
  });

  const STATELESS = /\w+\.\w+ leaves the \w+ without a state/;
  const MISPLACED = /\w+\.\w+ is about a \w+, and the service writes it of \w+/;
  const FORGERIES: Record<string, [name: string, fault: RegExp, forgery: Forgery]> = {
    'a stop that covered it': ['sent', /the stop \w+ covered it/, before('sent', (_, at) => [stopOf(at)])],
    'a stop behind an entry without a state': [
      'sent',
      STATELESS,
      before('sent', (_, at) => [stopOf(at), { action: 'stop.noted', subject: stopOf(at).subject, state: null }]),
    ],
    'a stop behind its lifting without a state': [
      'sent',
      STATELESS,
      before('sent', (_, at) => [stopOf(at), { action: 'stop.lifted', subject: stopOf(at).subject, state: null }]),
    ],
    'a stop behind a refused caller': [
      'sent',
      MISPLACED,
      before('sent', (_, at) => [stopOf(at), { action: 'access.denied', subject: stopOf(at).subject, state: null }]),
    ],
    'a suspended agent behind an entry without a state': [
      'sent',
      STATELESS,
      (entries) => {
        const { id } = stage.bot;
        const at = find(entries, 'execution.completed', idOf('sent'));
        const { state } = find(entries, 'agent.created', id);
        const suspended = { ...state, status: 'suspended', revision: 2, updatedAt: at.timestamp };
        const subject = ['agent', id] as const;
        const added = [
          entryAt(at, { action: 'agent.suspended', subject, state: suspended, agentId: id }),
          entryAt(at, { action: 'agent.noted', subject, state: null, agentId: id }),
        ];
        return entries.toSpliced(entries.indexOf(at), 0, ...added);
      },
    ],
    'a contradicting claim': ['paid', /had 2 such claims/, before('paid', (...all) => [otherClaim(...all)])],
    'a contradicting claim behind an entry without a state': [
      'paid',
      STATELESS,
      before('paid', (...all) => [
        otherClaim(...all),
        { action: 'claim.noted', subject: otherClaim(...all).subject, state: null },
      ]),
    ],
    'a contradicting claim behind another predicate': [
      'paid',
      /had 2 such claims/,
      before('paid', (...all) => {
        const claim = otherClaim(...all);
        return [claim, { ...claim, action: 'claim.noted', state: { ...claim.state, predicate: 'other' } }];
      }),
    ],
    'a contradicting claim behind a removal that leaves it there': [
      'paid',
      /claim\.removed leaves the claim with a state/,
      before('paid', (...all) => [otherClaim(...all), { ...otherClaim(...all), action: 'claim.removed' }]),
    ],
    'an entity that was created as something else': [
      'paid',
      MISPLACED,
      (entries) => {
        find(entries, 'entity.created').subjectType = 'note';
        find(entries, 'entity.created').audit.subjectType = 'note';
        return entries;
      },
    ],
    'a revoked key': ['sent', /no key in force|was not in force/, before('sent', (...all) => [revocation(...all)])],
    'a revoked key that is created again as something else': [
      'sent',
      MISPLACED,
      before('sent', (...all) => {
        const { id } = stage.botKey;
        const { state } = find(all[0], 'api_key.created', id);
        return [revocation(...all), { action: 'api_key.created', subject: ['note', id], state }];
      }),
    ],
    'a key that was created as something else': [
      'sent',
      MISPLACED,
      (entries) => {
        const created = find(entries, 'api_key.created', stage.botKey.id);
        created.subjectType = created.audit.subjectType = 'note';
        return entries;
      },
    ],
    'a grant that nobody gave': [
      'sent',
      /has no entry of the grant grt_01M8GXKYS9AAYGA38BW7HT1BT3 and its decision before it/,
      (entries) => {
        buyFirst(entries);
        return entries;
      },
    ],
    'a grant that was created as something else': [
      'sent',
      MISPLACED,
      before('first', (entries) => {
        buyFirst(entries);
        const purpose = { agentId: stage.bot.id, action: 'buy', resourceType: 'order', onBehalfOf: null };
        return [grantOf({ id: GRANT, ...purpose }, 'note')];
      }),
    ],
    'a grant that was created without a state': [
      'sent',
      STATELESS,
      before('first', (entries) => {
        buyFirst(entries);
        return [grantOf(null)];
      }),
    ],
    'a use of a grant without a state': [
      'granted',
      STATELESS,
      (entries) => {
        const own = find(entries, 'execution.authorized', idOf('granted'));
        const use = entryAt(own, { ...own, subject: ['execution', 'exe_01M8GXKYS9AAYGA38BW7HT1BT3'], state: null });
        return entries.toSpliced(entries.indexOf(own), 0, use);
      },
    ],
    'a rejection that held': [
      'granted',
      /the rejection of the same action by \w+ held/,
      (entries) => {
        buyRejected(entries);
        return entries;
      },
    ],
    'a rejection that was proposed as something else': [
      'granted',
      MISPLACED,
      before('rejected', (entries) => {
        buyRejected(entries);
        const { subjectId, state, timestamp } = find(entries, 'decision.proposed');
        const proposed = { ...state, expiresAt: timestamp };
        return [{ action: 'decision.proposed', subject: ['note', subjectId], state: proposed }];
      }),
    ],
    'a limit that something else fills': [
      'third',
      /details\.limited says that 3 were used before/,
      (entries) => {
        const own = find(entries, 'execution.authorized', idOf('third'));
        const { used } = own.audit.details;
        const note = { action: 'note.made', subject: ['note', 'note_1'] as const, state: { id: 'note_1' } };
        const added = entryAt(own, { ...note, details: { used: structuredClone(used) } });
        own.action = own.audit.action = 'execution.denied';
        const denied = { outcome: 'denied', reason: 'limit_reached', policies: [], completedAt: own.timestamp };
        Object.assign(own.state, denied);
        Object.assign(own.audit, { outcome: 'denied', reason: 'limit_reached' });
        Object.assign(own.audit.details, { policies: [], limited: [{ ...used[0], before: '3' }] });
        delete own.audit.details.used;
        return entries
          .toSpliced(entries.indexOf(own), 0, added)
          .filter(({ action }) => action !== 'policy.limit_warned');
      },
    ],
    'a misspelled resource': [
      'sent',
      /the resource is not spelled as one can be/,
      (entries) => {
        const own = find(entries, 'execution.authorized', idOf('first'));
        own.state.resourceId = own.audit.details.resourceId = 'a/../b';
        return entries;
      },
    ],
    'a misspelled resource in an entry of version 1': [
      'sent',
      /v is 1, and the entry before has 2/,
      (entries) => {
        const own = find(entries, 'execution.authorized', idOf('first'));
        own.state.resourceId = own.audit.details.resourceId = 'a/../b';
        Object.assign(own, { v: 1, salts: null, detailsHash: null });
        return entries;
      },
    ],
  };

  it.each(Object.keys(FORGERIES))('finds %s', async (label) => {
    const [name = '', fault = /^$/, forgery = (entries: Parsed[]): Parsed[] => entries] = FORGERIES[label] ?? [];
    const output = await forged(name, forgery);
    expect(output).toMatch(fault);
    expect(output).toMatch(REFUSED);
  });

  describe('that name rules of the evaluation 2', () => {
    /** Says of all rules of a file that they are of this evaluation, and of those of other entries nothing. */
    async function evaluatedBefore(name: string, isAlone: boolean): Promise<string> {
      const file = JSON.parse(await decisionFileOf(stage.app, { id: idOf(name) }));
      for (const rules of file.rules) rules.evaluation = 2;
      const text = JSON.stringify(file);
      const { log, publicKey, ...changed } = forgeLog({ text, log: stage.log }, (entries) => entries);
      return (await verifyFile(changed.text, publicKey, isAlone ? undefined : log)).output;
    }

    it.each([true, false])('notes that only the operator says that it was current, %s', async (isAlone) => {
      const output = await evaluatedBefore('first', isAlone);
      expect(output).toContain('NOTE Rules of the evaluation 2 decided, which is not the current one, 4');
      expect(output).toMatch(RECOMPUTED);
    });

    it('finds that others were of the evaluation 4 before', async () => {
      expect(await evaluatedBefore('sent', true)).toMatch(RECOMPUTED);
      const output = await evaluatedBefore('sent', false);
      expect(output).toMatch(/its rules are of the evaluation 2, and others of 4 decided before/);
      expect(output).toMatch(REFUSED);
    });
  });
});
