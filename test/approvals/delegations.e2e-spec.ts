import { setTimeout as sleep } from 'node:timers/promises';
import type { DelegationResponse } from '../../src/governance/delegations/dto/delegation.dto';
import { ORIGIN } from '../support/application/authenticator';
import { createTestApp } from '../support/application/create-test-app';
import { auditOf, createAgent, createPolicy, issueKey, propose } from '../support/application/factories';
import { type Answer, faults, type Parsed, send } from '../support/application/send';
import { reviewer, signedOf, type Signer, signer } from '../support/application/signers';
import { stageOf } from '../support/application/stage';
import { decisionFileOf, verifyFile } from '../evidence/verified-file';
import { approve, company, DECISIONS, order, pending, reject, requireApproval, resume } from './support';

type Person = Omit<Signer, 'passkeyId'>;
const DAY = 86_400_000;
const inDays = (days: number): string => new Date(Date.now() + days * DAY).toISOString();
const FINANCE = { subjects: ['role:finance'] };

describe('A delegation', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { MAX_PENDING_APPROVALS: '100', PUBLIC_URL: ORIGIN } });
    const people = await company(app);
    await requireApproval(app, { approvers: [{ ...FINANCE, approvals: 1 }] });
    return { app, people, mia: await reviewer(app, 'mia', ['finance']), joe: await reviewer(app, 'joe', ['sales']) };
  });

  let count = 0;
  const somebody = (...roles: string[]): Promise<Person> => reviewer(stage.app, `person ${(count += 1)}`, roles);
  const post = ({ agent, key }: Person, body: object): Promise<Answer> =>
    send(stage.app, 'POST', `/api/v1/agents/${agent.id}/delegations`, { key, body });
  const delegate = async (from: Person, to: Person, body: object = {}): Promise<DelegationResponse> => {
    const { status, body: made } = await post(from, { to: to.agent.id, until: inDays(7), ...body });
    expect(status).toBe(201);
    return made;
  };
  const end = ({ agent, key }: Person, id: string): Promise<Answer> =>
    send(stage.app, 'POST', `/api/v1/agents/${agent.id}/delegations/${id}/end`, { key });
  const review = (
    decisionId: string | null,
    { agent, key }: Person,
    delegationId: string | undefined,
    verdict = 'approve',
    members: object = {},
  ): Promise<Answer> => {
    const body = { approverId: agent.id, delegationId, ...members };
    return send(stage.app, 'POST', `${DECISIONS}/${String(decisionId)}/${verdict}`, { key, body });
  };
  const waiting = (body: object = {}): Promise<Parsed> => pending(stage.app, stage.people.bot, { ...order(), ...body });
  const reasonOf = ({ status, body }: Answer): unknown[] => [status, body.error?.reason ?? body.error?.code];
  const approversOf = async (id: string): Promise<Parsed[]> =>
    (await send(stage.app, 'GET', `${DECISIONS}/${id}/approvers`)).body.data;

  it('lets another person review in the place of the one who made it, on record', async () => {
    const { app } = stage;
    const [ann, ben] = [await somebody('finance'), await somebody('sales')];
    const made = await delegate(ann, ben);
    expect(made).toMatchObject({ agentId: ann.agent.id, to: ben.agent.id, status: 'active', endedAt: null });
    expect(made.from).toBe(made.createdAt);
    const { id, decisionId } = await waiting();
    expect(reasonOf(await review(decisionId, ben, undefined))).toEqual([403, 'not_an_approver']);
    const { body } = await review(decisionId, ben, made.id);
    expect(body).toMatchObject({
      status: 'approved',
      reviews: [{ approverId: ben.agent.id, delegationId: made.id, groups: [0] }],
    });
    const entry = (await auditOf(app, String(decisionId))).at(-1);
    expect(entry).toMatchObject({
      action: 'decision.approved',
      agentId: ben.agent.id,
      details: { delegator: { agentId: ann.agent.id, revision: ann.agent.revision } },
    });
    // On resume the person counts in whose place the review was, also after the delegation has ended.
    expect((await end(ann, made.id)).body).toMatchObject({ status: 'ended' });
    const resumed = await resume(app, id);
    expect(resumed.status).toBe(200);
    expect((await auditOf(app, id)).at(-1)?.details).toMatchObject({ approvers: [{ agentId: ann.agent.id }] });
    const actions = (await auditOf(app, made.id)).map(({ action }) => action);
    expect(actions).toEqual(['delegation.created', 'delegation.ended']);
  });

  it('counts as long as that person could still approve', async () => {
    const [ann, ben] = [await somebody('finance'), await somebody('sales')];
    const made = await delegate(ann, ben);
    const { id, decisionId } = await waiting();
    expect((await review(decisionId, ben, made.id)).body.status).toBe('approved');
    await send(stage.app, 'POST', `/api/v1/agents/${ann.agent.id}/suspend`, { body: {} });
    expect(reasonOf(await resume(stage.app, id))).toEqual([403, 'approval_insufficient']);
    expect(reasonOf(await review((await waiting()).decisionId, ben, made.id))).toEqual([403, 'agent_suspended']);
    await send(stage.app, 'POST', `/api/v1/agents/${ann.agent.id}/resume`, { body: {} });
    await send(stage.app, 'POST', `/api/v1/agents/${ben.agent.id}/suspend`, { body: {} });
    expect((await resume(stage.app, id)).status).toBe(200);
  });

  it.each([
    [
      'the role that fills the group',
      async ({ agent }: Person) => {
        const change = (roles: string[]) => send(stage.app, 'PATCH', `/api/v1/agents/${agent.id}`, { body: { roles } });
        await change([]);
        return () => change(['finance']);
      },
    ],
    [
      'the right to approve, by a policy',
      async ({ agent }: Person) => {
        const denial = { effect: 'deny', subjects: [`agent:${agent.name}`], actions: ['decision:approve'] };
        const { id } = await createPolicy(stage.app, { ...denial, resources: ['*'] });
        return () => send(stage.app, 'POST', `/api/v1/policies/${id}/deactivate`, { body: {} });
      },
    ],
  ])('does not count at a resume while that person has lost %s, and the verifier agrees', async (_what, takeAway) => {
    const { app } = stage;
    const [ann, ben] = [await somebody('finance'), await somebody('finance')];
    const made = await delegate(ann, ben);
    const { id, decisionId } = await waiting();
    expect((await review(decisionId, ben, made.id)).body.status).toBe('approved');
    const giveBack = await takeAway(ann);
    expect(reasonOf(await resume(app, id))).toEqual([403, 'approval_insufficient']);
    await giveBack();
    const resumed = await resume(app, id);
    expect(resumed.status).toBe(200);
    const { publicKey } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
    const { exitCode, output } = await verifyFile(await decisionFileOf(app, resumed.body), publicKey);
    expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
  });

  it('lets no person fill two places, and no place be filled twice', async () => {
    const { app, people } = stage;
    const [ann, ben, cem] = [await somebody('pair'), await somebody('pair'), await somebody('pair')];
    const [toBen, toCem] = [await delegate(ann, ben), await delegate(ann, cem)];
    const twoOf = () => propose(app, people.bot.id, { approvers: [{ subjects: ['role:pair'], approvals: 3 }] });
    const decision = await twoOf();
    expect((await review(decision.id, ben, toBen.id)).body.status).toBe('proposed');
    expect(reasonOf(await review(decision.id, ben, undefined))).toEqual([409, 'CONFLICT']);
    expect(reasonOf(await review(decision.id, cem, toCem.id))).toEqual([409, 'CONFLICT']);
    expect(reasonOf(await review(decision.id, ann, undefined))).toEqual([409, 'CONFLICT']);
    expect((await review(decision.id, cem, undefined)).body.approvers[0].given).toBe(2);
    const other = await twoOf();
    expect((await review(other.id, ann, undefined)).status).toBe(200);
    expect(reasonOf(await review(other.id, ben, toBen.id))).toEqual([409, 'CONFLICT']);
  });

  it('cannot be passed on, and gives nothing that the person could not do', async () => {
    const { app, people } = stage;
    const [ann, ben, cem] = [await somebody('finance'), await somebody('sales'), await somebody('sales')];
    const [toBen, toCem] = [await delegate(ann, ben), await delegate(ben, cem)];
    const { decisionId } = await waiting();
    expect(reasonOf(await review(decisionId, cem, toCem.id))).toEqual([403, 'not_an_approver']);
    expect(Object.keys(faults(await review(decisionId, cem, toBen.id)))).toEqual(['delegationId']);
    expect(Object.keys(faults(await review(decisionId, cem, 'dlg_unknown')))).toEqual(['delegationId']);
    expect(
      reasonOf(await send(app, 'POST', `${DECISIONS}/${decisionId}/reject`, { body: { delegationId: toBen.id } })),
    ).toEqual([400, 'VALIDATION_ERROR']);
    const forbid = (name: string) =>
      createPolicy(app, {
        effect: 'deny',
        subjects: [`agent:${name}`],
        actions: ['decision:approve'],
        resources: ['*'],
      });
    const { id } = await forbid(ann.agent.name);
    expect(reasonOf(await review(decisionId, ben, toBen.id))).toEqual([403, 'policy_denied']);
    await send(app, 'POST', `/api/v1/policies/${id}/deactivate`, { body: {} });
    await forbid(ben.agent.name);
    expect(reasonOf(await review(decisionId, ben, toBen.id))).toEqual([403, 'policy_denied']);
    const own = await propose(app, ann.agent.id, { approvers: [{ subjects: [ann.agent.name] }] });
    expect(reasonOf(await review(own.id, ben, toBen.id))).toEqual([403, 'self_approval']);
    expect(people.bot.kind).toBe('machine');
  });

  it('lets no person review what they proposed, or what is done on their behalf', async () => {
    const { app } = stage;
    const [ann, ben] = [await somebody('finance'), await somebody('sales')];
    const made = await delegate(ann, ben);
    const own = await propose(app, ben.agent.id, { approvers: [FINANCE] });
    for (const verdict of ['approve', 'reject'])
      expect(reasonOf(await review(own.id, ben, made.id, verdict))).toEqual([403, 'self_approval']);
    const { decisionId } = await waiting({ onBehalfOf: { subject: `agent:${ben.agent.id}` } });
    for (const verdict of ['approve', 'reject'])
      expect(reasonOf(await review(decisionId, ben, made.id, verdict))).toEqual([403, 'self_approval']);
  });

  it('is made by the person alone, from now on, for at most 90 days, five at a time, to an active person', async () => {
    const { app, people, mia } = stage;
    const [ann, ben] = [await somebody('finance'), await somebody('finance')];
    const good = { to: ben.agent.id, until: inDays(90) };
    const { secret } = await issueKey(app, { scopes: ['admin', 'review'] });
    for (const key of [secret, mia.key])
      expect(reasonOf(await post({ ...ann, key }, good))).toEqual([403, 'not_this_agent']);
    expect(reasonOf(await send(app, 'POST', `/api/v1/agents/${ann.agent.id}/delegations`, { body: good }))).toEqual([
      403,
      'not_this_agent',
    ]);
    const suspended = await createAgent(app, { name: 'suspended', kind: 'human' });
    await send(app, 'POST', `/api/v1/agents/${suspended.id}/suspend`, { body: {} });
    for (const [field, body] of [
      ['to', { to: ann.agent.id }],
      ['to', { to: people.bot.id }],
      ['to', { to: suspended.id }],
      ['to', { to: 'nobody' }],
      ['until', { until: inDays(91) }],
      ['until', { until: inDays(-1) }],
      ['until', { from: inDays(3), until: inDays(2) }],
      ['from', { from: inDays(-1) }],
      ['from', { from: 'tomorrow' }],
    ] as const)
      expect([field, Object.keys(faults(await post(ann, { ...good, ...body })))]).toEqual([field, [field]]);
    expect((await delegate(ann, ben, { from: inDays(10), until: inDays(99) })).status).toBe('waiting');
    for (let more = 0; more < 4; more += 1) await delegate(ann, ben, { to: ben.agent.name });
    expect(reasonOf(await post(ann, good))).toEqual([409, 'CONFLICT']);
    const { body: list } = await send(app, 'GET', `/api/v1/agents/${ann.agent.id}/delegations?status=active`);
    expect(list.total).toBe(4);
    expect(reasonOf(await end(mia, list.data[0].id))).toEqual([404, 'NOT_FOUND']);
    expect(reasonOf(await end({ ...ann, key: mia.key }, list.data[0].id))).toEqual([403, 'not_this_agent']);
    expect((await end({ ...ann, key: secret }, list.data[0].id)).body.status).toBe('ended');
    expect((await end(ann, list.data[0].id)).body.status).toBe('ended');
    expect((await post(ann, good)).status).toBe(201);
    const path = `/api/v1/agents/${ben.agent.id}/delegations?side=received&status=active`;
    expect((await send(app, 'GET', path, { key: ben.key })).body.total).toBe(4);
    const bot = await send(app, 'GET', `/api/v1/agents/${people.bot.id}/delegations`);
    expect(bot.status).toBe(409);
  });

  it('begins and expires by itself, and is refused before and after', async () => {
    const { app } = stage;
    const [ann, ben] = [await somebody('finance'), await somebody('sales')];
    const soon = (milliseconds: number): string => new Date(Date.now() + milliseconds).toISOString();
    const made = await delegate(ann, ben, { from: soon(1_500), until: soon(3_500) });
    const { decisionId } = await waiting();
    expect(reasonOf(await review(decisionId, ben, made.id))).toEqual([409, 'CONFLICT']);
    const status = async (): Promise<unknown> =>
      (await send(app, 'GET', `/api/v1/agents/${ann.agent.id}/delegations/${made.id}`)).body.status;
    while ((await status()) !== 'expired') await sleep(100);
    expect((await auditOf(app, made.id)).map(({ action, actor }) => [action, actor.type])).toEqual([
      ['delegation.created', 'api_key'],
      ['delegation.started', 'system'],
      ['delegation.expired', 'system'],
    ]);
    expect(reasonOf(await review(decisionId, ben, made.id))).toEqual([409, 'CONFLICT']);
  });

  it('is shown among the approvers, and what it is for awaits both', async () => {
    const { app } = stage;
    const [ann, ben] = [await somebody('away'), await somebody('sales')];
    const made = await delegate(ann, ben);
    const decision = await propose(app, stage.people.bot.id, { approvers: [{ subjects: ['role:away'] }] });
    const own = { agentId: ann.agent.id, able: true, why: null, groups: [0] };
    expect(await approversOf(decision.id)).toEqual([
      expect.objectContaining(own),
      expect.objectContaining({ ...own, agentId: ben.agent.id, for: ann.agent.id, delegationId: made.id }),
    ]);
    const awaited = async ({ agent }: Person): Promise<Parsed> =>
      (await send(app, 'GET', `${DECISIONS}?awaiting=${agent.id}`)).body;
    const awaiting = async (person: Person): Promise<number> => (await awaited(person)).total;
    expect([await awaiting(ann), await awaiting(ben)]).toEqual([1, 1]);
    const placesFor = async (person: Person): Promise<unknown[]> =>
      (await awaited(person)).data.map(({ inPlaceOf }: Parsed) => inPlaceOf);
    expect([await placesFor(ann), await placesFor(ben)]).toEqual([[undefined], [[ann.agent.id]]]);
    const ofBoth = await propose(app, stage.people.bot.id, { approvers: [{ subjects: ['role:away', 'role:sales'] }] });
    expect(await placesFor(ben)).toEqual([[ann.agent.id], undefined]);
    expect((await send(app, 'GET', `${DECISIONS}/${ofBoth.id}`)).body).not.toHaveProperty('inPlaceOf');
    await review(ofBoth.id, ben, undefined, 'reject');
    const two = await propose(app, stage.people.bot.id, { approvers: [{ subjects: ['role:away'], approvals: 2 }] });
    expect((await send(app, 'GET', `${DECISIONS}/${two.id}/approvers`)).body.feasible).toBe(false);
    expect((await review(decision.id, ben, made.id, 'reject')).body).toMatchObject({ status: 'rejected' });
    await review(two.id, ben, made.id);
    expect((await approversOf(two.id)).map(({ why }) => why)).toEqual(['reviewed', 'reviewed']);
    await end(ann, made.id);
    expect(await approversOf(two.id)).toHaveLength(1);
    expect(await awaiting(ben)).toBe(0);
  });

  it('is part of what a passkey signs', async () => {
    const { app } = stage;
    const ann = await somebody('signing');
    const ben = await signer(app, 'ben who signs', []);
    const made = await delegate(ann, ben);
    const decision = await propose(app, stage.people.bot.id, {
      approvers: [{ subjects: ['role:signing'], signed: true }],
    });
    expect(reasonOf(await review(decision.id, ben, made.id))).toEqual([403, 'signature_required']);
    const content = signedOf(decision, ben.agent.id);
    const wrong = { signature: ben.device.sign(content) };
    expect(reasonOf(await review(decision.id, ben, made.id, 'approve', wrong))).toEqual([403, 'signature_invalid']);
    const signature = ben.device.sign({ ...content, delegationId: made.id });
    expect((await review(decision.id, ben, made.id, 'approve', { signature })).body.status).toBe('approved');
  });

  it('is not for reviews together, nor in the list of grants that the person could revoke', async () => {
    const { mia } = stage;
    const body = { decisions: [{ id: 'dec_x', actionHash: null }], approverId: mia.agent.id, delegationId: 'dlg_x' };
    expect((await send(stage.app, 'POST', `${DECISIONS}/approve`, { key: mia.key, body })).status).toBe(400);
    expect((await approve(stage.app, 'dec_x', mia.agent)).status).toBe(404);
    expect((await reject(stage.app, 'dec_x', mia.agent)).status).toBe(404);
  });
});
