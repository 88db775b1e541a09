import { approve, approvedChange, changeHeader, newPolicy, startChanges } from '../changes/support';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send, type Sent } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { canonicalHash } from '../verification/recompute-chain';
import { AT_ONCE } from './every-kind-of-change';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

/** Changes the entries of a log; `id` is that of the decision whose file is forged with it. */
type Forgery = (entries: Parsed[], id: string, ids: Set<string>) => Parsed[] | undefined;

const API = '/api/v1';
const NAMES = ['policy', 'machine', 'version', 'activation', 'roles', 'mail', 'secret', 'erasure'] as const;

describe('The verifier, on records that changed more than was approved', () => {
  const stage = stageOf(async () => {
    let prepared: Parsed = {};
    const started = await startChanges(
      { RETAIN_AT_LEAST: 'PT0S' },
      {
        prepare: async (app) => {
          const bot = await createAgent(app, { name: 'bot', capabilities: ['look'] });
          const never = await createPolicy(app, { name: 'never', effect: 'deny', actions: ['pay'] });
          await createPolicy(app, { name: 'pay', version: '1', actions: ['pay'] });
          await createPolicy(app, { name: 'looks', actions: ['look'] });
          const dormant = await createPolicy(app, { name: 'dormant', effect: 'deny', actions: ['burn'] });
          await send(app, 'POST', `${API}/policies/${dormant.id}/deactivate`);
          const look = async (resourceId: string): Promise<Parsed> => {
            const body = { action: 'look', resourceType: 'o', resourceId, parameters: {} };
            return (await send(app, 'POST', `${API}/agents/bot/execute`, { body })).body;
          };
          const [one, other] = [await look('a'), await look('b')];
          const stop = await send(app, 'POST', `${API}/stops`, { body: { actions: ['dance'], reason: 'Too loud.' } });
          await send(app, 'POST', `${API}/stops/${stop.body.id}/lift`, { body: { reason: 'Quiet now.' } });
          for (const path of ['suspend', 'resume']) await send(app, 'POST', `${API}/agents/bot/${path}`);
          const body = { url: 'https://siem.example/x', actions: ['*'] };
          const hook = (await send(app, 'POST', `${API}/webhooks`, { body })).body;
          prepared = { bot, never, dormant, one, other, hook };
        },
      },
    );
    const { app, ada, ben, cyd } = started;
    const made = new Map<string, string>();
    const make = async (name: string, method: string, path: string, sent: Sent = {}): Promise<void> => {
      const approvers = sent.key === undefined ? [ada, ben] : [ada];
      const id = await approvedChange(app, [method, `${API}${path}`, sent], approvers);
      const { status } = await send(app, method, `${API}${path}`, { ...sent, ...changeHeader(id) });
      expect([name, status < 300 && status !== 202]).toEqual([name, true]);
      made.set(name, id);
    };
    const { key } = cyd;
    const { dormant, hook, one } = prepared;
    await make('policy', 'POST', '/policies', { key, body: { ...newPolicy(), name: 'harmless', effect: 'deny' } });
    await make('machine', 'POST', '/agents', { key, body: { name: 'robot' } });
    await make('version', 'POST', '/policies', { key, body: { ...newPolicy(), name: 'pay', version: '2' } });
    await make('activation', 'POST', `/policies/${dormant.id}/activate`, { key });
    await make('roles', 'PATCH', '/agents/bot', { key, body: { roles: ['reader'] } });
    await make('mail', 'PUT', '/agents/cyd/email', { body: { email: 'cyd@example.org' } });
    await make('secret', 'POST', `/webhooks/${hook.id}/rotate-secret`);
    const body = { subjects: [{ type: 'execution', id: one.id }], reason: 'Asked for.' };
    await make('erasure', 'POST', '/erasures', { body });
    await send(app, 'POST', `${API}/policies`, { headers: AT_ONCE, body: newPolicy() });
    const [review] = (await send(app, 'GET', `${API}/decisions?type=change_review`)).body.data;
    await make('person', 'POST', '/agents', { body: { name: 'zed', kind: 'human' } });
    const zed = (await send(app, 'GET', `${API}/agents/zed`)).body;
    await make('key', 'POST', '/api-keys', { body: { name: 'zed', agentId: zed.id, scopes: ['review'] } });
    for (const person of [ada, ben]) expect((await approve(app, review.id, person)).status).toBe(200);
    return { ...started, ...prepared, zed, review, made, ...(await keyAndLog(app)) };
  });
  const idOf = (name: string): string => (name === 'review' ? stage['review'].id : stage['made'].get(name));
  const entryOf = (entries: Parsed[], action: string, id: string): Parsed =>
    entries.find((entry) => entry.action === action && [entry.subjectId, entry.audit.details?.changeId].includes(id));
  /** Changes the state that an entry leaves, and later ones of its record. */
  const leave = (entries: Parsed[], entry: Parsed, members: object): Parsed[] => {
    for (const { subjectId, sequence, state } of entries)
      if (subjectId === entry.subjectId && sequence >= entry.sequence) Object.assign(state, members);
    return entries;
  };

  async function forged(name: string, forgery: Forgery, isAlone = false): Promise<string> {
    const id = idOf(name);
    const text = await decisionFileOf(stage.app, { id });
    const { log, publicKey, ...file } = forgeLog(
      { text, log: stage['log'] },
      (entries, ids) => forgery(entries, id, ids) ?? entries,
    );
    return (await verifyFile(file.text, publicKey, isAlone ? undefined : log)).output;
  }

  it.each([...NAMES, 'review'])('recomputes the change of %s as it was', async (name) => {
    for (const isAlone of [true, false]) {
      const output = await forged(name, () => undefined, isAlone);
      expect(output).toMatch(/\nRECOMPUTED: (?:made|approved) as recorded\n$/);
    }
  });

  const CASES: Record<string, [name: string, forgery: Forgery, expected: string]> = {
    'capabilities beside the roles of a body': [
      'roles',
      (entries, id) => leave(entries, entryOf(entries, 'agent.updated', id), { capabilities: ['*'], team: 'x' }),
      'agent.updated changes the capabilities of the agent, which it does not say',
    ],
    'roles given with a mail address': [
      'mail',
      (entries, id) => leave(entries, entryOf(entries, 'agent.updated', id), { roles: ['board'] }),
      'agent.updated changes the roles of the agent, which it does not say',
    ],
    'a webhook that moved with its secret': [
      'secret',
      (entries, id) => leave(entries, entryOf(entries, 'webhook.updated', id), { url: 'https://evil.example' }),
      'webhook.updated changes the url of the webhook, which it does not say',
    ],
    'another content of a policy that came back': [
      'activation',
      (entries, id) => leave(entries, entryOf(entries, 'policy.activated', id), { effect: 'allow' }),
      'policy.activated changes the effect of the policy, which it does not say',
    ],
    'a deny of a team that nobody has named': [
      'policy',
      (entries, id) => leave(entries, entryOf(entries, 'policy.created', id), { team: 'nobody' }),
      'the team is recorded as nobody, and by the key and the body it is null',
    ],
    'an agent of a team that nobody has named': [
      'machine',
      (entries, id) => leave(entries, entryOf(entries, 'agent.created', id), { team: 'nobody' }),
      'the team is recorded as nobody, and by the key and the body it is null',
    ],
    'the erasure of another execution': [
      'erasure',
      (entries) => {
        const { one, other } = stage;
        const swapped = (text: string): string =>
          text.replaceAll(one.id, '@').replaceAll(other.id, one.id).replaceAll('@', other.id);
        for (const entry of entries.filter(({ subjectType }) => subjectType === 'execution')) {
          entry.subjectId = entry.audit.subjectId = swapped(entry.subjectId);
          if (entry.state !== null) entry.state = JSON.parse(swapped(JSON.stringify(entry.state)));
        }
        return entries;
      },
      'which was not erased',
    ],
    'a reviewer who was registered later, with an earlier time': [
      'review',
      (entries, id, ids) => {
        const { zed, ben } = stage;
        const created = entryOf(entries, 'agent.created', zed.id);
        const at = entries.indexOf(created) + 1;
        const updated = structuredClone(created);
        const [first, last] = [`${created.id}U`, `${created.auditId}U`];
        Object.assign(updated, { id: first, auditId: last, action: 'agent.updated' });
        Object.assign(updated.audit, { id: last, action: 'agent.updated', details: { fields: ['roles'] } });
        const review = entries.findLast(({ action, subjectId }) => action === 'decision.approved' && subjectId === id);
        const createdAt = new Date(Date.parse(review.state.context.before) - 1000).toISOString();
        Object.assign(updated.state, { revision: 2, roles: ['auditor'], createdAt });
        const key = entries.find(({ action, state }) => action === 'api_key.created' && state.agentId === zed.id);
        review.state.reviews[1].approverId = review.audit.agentId = zed.id;
        review.audit.actor = { type: 'api_key', id: key.subjectId };
        review.audit.details.approverRevision = 2;
        ids.add(first);
        ids.delete(entryOf(entries, 'agent.created', ben.id).id);
        for (const { audit, sequence } of entries)
          for (const name of ['firstSequence', 'lastSequence'])
            if (audit.details?.[name] > at && sequence > at) audit.details[name] = Number(audit.details[name]) + 1;
        return entries.toSpliced(at, 0, updated);
      },
      'agent.updated changes the createdAt of the agent, which it does not say',
    ],
    'a person whose registration says an earlier time': [
      'review',
      (entries) => {
        const createdAt = '2026-01-01T00:00:00.000Z';
        return leave(entries, entryOf(entries, 'agent.created', stage.zed.id), { createdAt });
      },
      'leaves the agent with the createdAt "2026-01-01T00:00:00.000Z"',
    ],
    'an older version that stays in force': [
      'version',
      (entries, id, ids) => {
        const superseded = entryOf(entries, 'policy.superseded', id);
        ids.delete(superseded.id);
        shift(entries, superseded.sequence, -1);
        return withSets(entries.filter((entry) => entry !== superseded));
      },
      'the policy "pay" is in force in another version',
    ],
  };

  it.each(Object.keys(CASES))('finds %s', async (label) => {
    const [name = '', forgery = () => undefined, expected] = CASES[label] ?? [];
    const output = await forged(name, forgery);
    expect(output).toContain(expected);
    expect(output).toMatch(/\n(?:INVALID|DIFFERS): .*\n$/);
  });

  it.each([
    ['policy', 'policy.created'],
    ['activation', 'policy.activated'],
  ])('finds a policy of another name that the change of %s took out of force', async (name, action) => {
    const supersede: Forgery = (entries, id, ids) => {
      const entry = entryOf(entries, action, id);
      const { state: before } = entryOf(entries, 'policy.created', stage['never'].id);
      const other = structuredClone(entry);
      const [first, last] = [`${entry.id}S`, `${entry.auditId}S`];
      const about = { subjectId: before.id, action: 'policy.superseded' };
      Object.assign(other, { id: first, auditId: last, ...about, state: { ...before, status: 'superseded' } });
      const policies = [{ id: before.id, name: before.name, version: before.version }];
      Object.assign(other.audit, { id: last, ...about, details: { ...entry.audit.details, policies } });
      other.audit.details.supersededBy = entry.subjectId;
      ids.add(first);
      shift(entries, entry.sequence, 1);
      return withSets(entries.toSpliced(entries.indexOf(entry), 0, other));
    };
    const alone = await forged(name, supersede, true);
    expect(alone).toMatch(/\nDIFFERS: .*: the policy never gave way to one of another name\n$/);
    expect(await forged(name, supersede)).toContain('does not take the place of "never"');
  });

  it.each<[name: string, member: string, value: unknown]>([
    ['roles', 'fields', ['roles', 'capabilities']],
    ['mail', 'fields', ['email', 'roles']],
    ['secret', 'fields', ['secret', 'url']],
  ])('finds that the entry of the change of %s says that it changed more', async (name, member, value) => {
    const output = await forged(
      name,
      (entries, id) => {
        entryOf(entries, name === 'secret' ? 'webhook.updated' : 'agent.updated', id).audit.details[member] = value;
        return entries;
      },
      true,
    );
    expect(output).toMatch(/\nDIFFERS: .* of which the body says nothing\n$/);
  });

  it.each([
    ['agent.suspended', 'active'],
    ['agent.resumed', 'suspended'],
    ['stop.created', 'lifted'],
    ['stop.lifted', 'active'],
    ['policy.created', 'inactive'],
    ['policy.deactivated', 'active'],
    ['policy.superseded', 'active'],
    ['api_key.created', 'revoked'],
    ['webhook.created', 'failing'],
    ['decision.change_made', 'proposed'],
  ])('finds an entry %s that leaves its record %s', async (action, status) => {
    const output = await forged('policy', (entries) => {
      entries.find((entry) => entry.action === action && entry.subjectId !== idOf('policy')).state.status = status;
      return entries;
    });
    expect(output).toMatch(
      new RegExp(`FAULT chain: entry \\d+: ${action} leaves the \\w+ with the status "${status}"`),
    );
    expect(output).toMatch(/\n(?:INVALID|DIFFERS): .*\n$/);
  });

  it.each(['agt_01M7W000000000000000000001', 'role:finance', '*', 'a/b', 'x\u200b', '..', 'e\u0301', ''])(
    'finds an agent with the name %j, which the service gives nobody',
    async (agentName) => {
      for (const isAlone of [true, false]) {
        const output = await forged(
          'machine',
          (entries, id) => {
            for (const { state } of entries)
              if (state?.change?.summary?.includes('"robot"')) {
                const summary = state.change.summary.replace('robot', agentName);
                Object.assign(state, { title: summary, change: { ...state.change, summary } });
              }
            leave(entries, entryOf(entries, 'agent.created', id), { name: agentName });
            return entries;
          },
          isAlone,
        );
        expect(output).toMatch(/the name ".*" of the agent (?:begins|has|is) /);
        expect(output).toMatch(/\n(?:INVALID|DIFFERS): .*\n$/);
      }
    },
  );
});

/** Moves the ranges of entries that changes have made, where an entry is added or left out. */
function shift(entries: Parsed[], at: number, by: number): void {
  for (const { audit } of entries) {
    const { details } = audit;
    if (details?.firstSequence > at) details.firstSequence = Number(details.firstSequence) + by;
    if (details?.lastSequence >= at) details.lastSequence = Number(details.lastSequence) + by;
  }
}

/** Names the policies that are in force after each request, as a forger would. */
function withSets(entries: Parsed[]): Parsed[] {
  const inForce = new Set<string>();
  const requests = new Map<string, Parsed[]>();
  for (const { subjectType, subjectId, audit, state } of entries) {
    if (subjectType !== 'policy') continue;
    if (state.status === 'active') inForce.add(subjectId);
    else inForce.delete(subjectId);
    const all = [...(requests.get(audit.requestId) ?? []), audit.details];
    requests.set(audit.requestId, all);
    for (const details of all) details.policySet = canonicalHash([...inForce].sort());
  }
  return entries;
}
