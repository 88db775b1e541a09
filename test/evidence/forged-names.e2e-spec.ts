import { ORIGIN } from '../support/application/authenticator';
import { createTestApp } from '../support/application/create-test-app';
import { addClaim, createAgent, createEntity, createPolicy, issueKey } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { reviewer, signAndApprove, signer } from '../support/application/signers';
import { stageOf } from '../support/application/stage';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

type Change = (entries: Parsed[], ids: Set<string>) => Parsed[] | undefined;
type Subject = 'question' | 'dance' | 'payment' | 'transfer';

const DAY = 86_400_000;

describe('The verifier, on a log that gives names and ids twice', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { PUBLIC_URL: ORIGIN } });
    const bot = await createAgent(app, { name: 'bot', capabilities: ['*'] });
    const { secret: key } = await issueKey(app, { agentId: bot.id, scopes: ['execute'] });
    const ann = await signer(app, 'ann', []);
    const mallory = await signer(app, 'mallory', []);
    const eve = await reviewer(app, 'eve', []);
    const scout = await createAgent(app, { name: 'scout', capabilities: ['*'] });
    const body = { observeUntil: new Date(Date.now() + DAY).toISOString() };
    expect((await send(app, 'PATCH', `/api/v1/agents/${scout.id}`, { body })).status).toBe(200);
    const entity = await createEntity(app, {});
    const claims = [
      await addClaim(app, entity.id, { predicate: 'iban', value: 'DE1', context: { confidence: 0.95 } }),
      await addClaim(app, entity.id, { predicate: 'other', value: 'DE2', context: { confidence: 0.99 } }),
    ];
    const required = { effect: 'require_approval' };
    const signed = { approvers: [{ subjects: ['agent:ann', 'agent:mallory'], signed: true }] };
    await createPolicy(app, { ...required, name: 'signed', actions: ['pay'], approval: signed });
    const plain = { approvers: [{ subjects: ['agent:eve'] }] };
    await createPolicy(app, { ...required, name: 'plain', actions: ['ask'], approval: plain });
    const condition = { claim: 'iban', op: 'supports', parameter: '/iban', value: 0.9 };
    await createPolicy(app, { name: 'claims', effect: 'allow', actions: ['wire'], conditions: [condition] });
    const execute = async (agent: string, action: string, resourceId = 'a', parameters = {}): Promise<Parsed> => {
      const sent = { action, resourceType: 'bill', resourceId, parameters };
      const sender = agent === 'bot' ? { key } : {};
      return (await send(app, 'POST', `/api/v1/agents/${agent}/execute`, { ...sender, body: sent })).body;
    };
    const payment = await execute('bot', 'pay');
    expect((await signAndApprove(app, payment.decisionId, mallory)).status).toBe(200);
    const question = await execute('bot', 'ask');
    const path = `/api/v1/decisions/${question.decisionId}/approve`;
    expect((await send(app, 'POST', path, { key: eve.key, body: {} })).status).toBe(200);
    for (const { id } of [payment, question]) await send(app, 'POST', `/api/v1/executions/${id}/resume`, { key });
    const transfer = await execute('bot', 'wire', entity.id, { iban: 'DE1' });
    const dance = await execute('scout', 'dance');
    const people = { ann, mallory, eve, bot, scout };
    return { app, ...people, entity, claims, payment, question, transfer, dance, ...(await keyAndLog(app)) };
  });

  async function forged(subject: Subject, change: Change): Promise<string> {
    const text = await decisionFileOf(stage.app, stage[subject] as { id: string });
    const { log, publicKey, ...file } = forgeLog(
      { text, log: stage.log },
      (entries, ids) => change(entries, ids) ?? entries,
    );
    return (await verifyFile(file.text, publicKey, log)).output;
  }
  const entryAbout = (entries: Parsed[], action: string, { id }: { id: string }): Parsed =>
    entries.find((entry) => entry.action === action && entry.subjectId === id);
  const keyOf = (entries: Parsed[], agentId: string): Parsed =>
    entries.find(({ action, state }) => action === 'api_key.created' && state.agentId === agentId);
  const states = (entries: Parsed[], { id }: { id: string }): Parsed[] =>
    entries.flatMap(({ subjectId, state }) => (subjectId === id ? [state] : []));
  const copyOf = (entry: Parsed, suffix: string, action = entry.action): Parsed => {
    const copy = structuredClone(entry);
    Object.assign(copy, { id: `${copy.id}${suffix}`, auditId: `${copy.auditId}${suffix}`, action });
    Object.assign(copy.audit, { id: copy.auditId, action });
    return copy;
  };
  const after = (entries: Parsed[], entry: Parsed, ...added: Parsed[]): Parsed[] =>
    entries.toSpliced(entries.indexOf(entry) + 1, 0, ...added);
  /** The next revision of an agent, by an entry of an action. */
  const changed = (entry: Parsed, suffix: string, action: string, state: object, details: object = {}): Parsed => {
    const copy = copyOf(entry, suffix, action);
    Object.assign(copy.state, { revision: Number(entry.state.revision) + 1, ...state });
    copy.audit.details = details;
    return copy;
  };

  it.each<Subject>(['payment', 'question', 'transfer', 'dance'])('recomputes the %s as it was', async (subject) => {
    const { app, publicKey, log } = stage;
    const text = await decisionFileOf(app, stage[subject] as { id: string });
    expect((await verifyFile(text, publicKey, log)).output).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
    expect(await forged(subject, () => undefined)).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
  });

  const CASES: Record<string, [Subject, Change, string]> = {
    'a second agent of a name, who signs with a device of its own': [
      'payment',
      (entries) => {
        for (const state of states(entries, stage.mallory.agent)) state.name = 'ann';
        return entries;
      },
      'the name "ann" is that of the agent agt_',
    ],
    'two people with one id in Slack': [
      'question',
      (entries) =>
        [stage.ann, stage.mallory].reduce((earlier, { agent }) => {
          const created = entryAbout(earlier, 'agent.created', agent);
          const update = changed(created, 'S', 'agent.updated', { slackId: 'T1/U1' }, { fields: ['slackId'] });
          return [...earlier, { ...update, timestamp: earlier.at(-1)?.timestamp }];
        }, entries),
      'the Slack id "T1/U1" is that of the agent agt_',
    ],
    'a machine that has an id in Slack': [
      'question',
      (entries) => {
        const created = entryAbout(entries, 'agent.created', stage.scout);
        created.state.slackId = 'T1/U1';
        return entries;
      },
      'the agent has the Slack id "T1/U1", and is no person',
    ],
    'an agent that got another name': [
      'question',
      (entries, ids) => {
        const created = entryAbout(entries, 'agent.created', stage.eve.agent);
        const renamed = changed(created, 'N', 'agent.updated', {}, { fields: ['roles'] });
        created.state.name = 'nobody';
        for (const { audit } of entries) {
          const { details } = audit;
          if (audit.agentId === stage.eve.agent.id && details.approverRevision === 1) details.approverRevision = 2;
          for (const approver of details.approvers ?? [])
            if (approver.agentId === stage.eve.agent.id) approver.revision = 2;
        }
        ids.add(renamed.id);
        ids.delete(created.id);
        return after(entries, created, renamed);
      },
      'the name "eve" of the agent was "nobody" before',
    ],
    'a suspended agent that an update made active': [
      'question',
      (entries, ids) => {
        const created = entryAbout(entries, 'agent.created', stage.bot);
        const suspended = changed(created, 'S', 'agent.suspended', { status: 'suspended' });
        const updated = changed(suspended, 'U', 'agent.updated', { status: 'active' }, { fields: ['description'] });
        for (const { audit, state } of entries)
          if (state?.agentId === stage.bot.id && audit.details.agentRevision === 1) audit.details.agentRevision = 3;
        ids.add(updated.id);
        ids.delete(created.id);
        return after(entries, created, suspended, updated);
      },
      'agent.updated gives the agent the status "active"',
    ],
    'a role that a suspension took away': [
      'question',
      (entries) => {
        const created = entryAbout(entries, 'agent.created', stage.eve.agent);
        const suspended = changed(created, 'S', 'agent.suspended', { status: 'suspended', roles: ['finance'] });
        return after(entries, created, suspended);
      },
      'agent.suspended changes the roles of the agent',
    ],
    'an observation of ten years': [
      'dance',
      (entries) => {
        for (const state of states(entries, stage.scout))
          if (state.observeUntil !== undefined) state.observeUntil = '2099-01-01T00:00:00.000Z';
        return entries;
      },
      'the agent is observed until "2099-01-01T00:00:00.000Z", for more than 30 days',
    ],
    'the observation of a person': [
      'dance',
      (entries) => {
        for (const state of states(entries, stage.scout)) state.kind = 'human';
        return entries;
      },
      'a person is observed',
    ],
    'a key that was revoked and made again': [
      'question',
      (entries) => {
        const key = keyOf(entries, stage.eve.agent.id);
        const revoked = copyOf(key, 'R', 'api_key.revoked');
        Object.assign(revoked.state, { status: 'revoked', revokedAt: revoked.timestamp });
        revoked.audit.details = {};
        return after(entries, key, revoked, copyOf(key, 'C'));
      },
      'api_key.created of the id',
    ],
    'a claim that was added again, about something else': [
      'transfer',
      (entries) => {
        const claim = entryAbout(entries, 'claim.added', stage.claims[1] ?? { id: '' });
        claim.state.predicate = 'iban';
        const copy = copyOf(claim, 'C');
        const entityId = `${stage.entity.id.slice(0, -3)}ZZZ`;
        Object.assign(copy.state, { predicate: 'other', entityId });
        copy.audit.entityId = entityId;
        return after(entries, claim, copy);
      },
      'claim.added of the id',
    ],
    'an agent that was created again': [
      'question',
      (entries) => {
        const created = entryAbout(entries, 'agent.created', stage.bot);
        return after(entries, created, copyOf(created, 'C'));
      },
      'agent.created of the id',
    ],
  };

  it.each(Object.keys(CASES))('finds %s', async (name) => {
    const [subject, change, expected] = CASES[name] ?? [];
    if (subject === undefined || change === undefined) throw new Error(name);
    const output = await forged(subject, change);
    expect(output).toContain(expected);
    expect(output).toMatch(/\nINVALID: .*\n$/);
  });

  it.each(['constructor', '__proto__', 'toString'])(
    'takes a record of the kind %s as one of a module',
    async (kind) => {
      const output = await forged('question', (entries) => {
        const entity = copyOf(entryAbout(entries, 'entity.created', stage.entity), 'M', `${kind}.made`);
        Object.assign(entity, { subjectType: kind, timestamp: entries.at(-1)?.timestamp });
        Object.assign(entity.audit, { subjectType: kind });
        return [...entries, entity];
      });
      expect(output).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
    },
  );

  it('finds an observed person also without an export', async () => {
    const text = await decisionFileOf(stage.app, stage.dance as { id: string });
    const { publicKey, ...file } = forgeLog({ text, log: stage.log }, (entries) => {
      for (const state of states(entries, stage.scout)) state.kind = 'human';
      return entries;
    });
    const { output } = await verifyFile(file.text, publicKey);
    expect(output).toMatch(/\nDIFFERS: .*a person was observed; only machines are\n$/);
  });
});
