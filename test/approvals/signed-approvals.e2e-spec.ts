import { ORIGIN, SoftwareAuthenticator } from '../support/application/authenticator';
import { createTestApp } from '../support/application/create-test-app';
import { auditOf, createAgent, createPolicy, propose } from '../support/application/factories';
import { type Answer, faults, type Parsed, send } from '../support/application/send';
import { reviewer, signAndApprove, signedOf, signer } from '../support/application/signers';
import { stageOf } from '../support/application/stage';
import {
  approve,
  ask,
  company,
  DECISIONS,
  execution,
  order,
  pending,
  reject,
  requireApproval,
  resume,
} from './support';

const ALGORITHMS = ['ES256', 'EdDSA', 'RS256'] as const;
const SIGNED = { subjects: ['role:finance'], signed: true };

describe('Signed approvals', () => {
  const stage = stageOf(async () => {
    const environment = { PUBLIC_URL: ORIGIN, MAX_PENDING_APPROVALS: '100', RETAIN_AT_LEAST: 'PT0S' };
    const app = await createTestApp({ environment });
    const people = await company(app);
    await send(app, 'PATCH', `/api/v1/agents/${people.bot.id}`, { body: { capabilities: ['*'] } });
    await requireApproval(app, { approvers: [SIGNED] });
    const grant = { for: 'PT1H', wider: true };
    await requireApproval(app, { approvers: [SIGNED], grant }, { name: 'pay', actions: ['pay'] });
    return { app, people, sue: await signer(app, 'sue', ['finance']), tom: await signer(app, 'tom', ['finance']) };
  });

  const reasonOf = ({ status, body }: Answer): unknown[] => [status, body.error?.reason];
  const waiting = (body: object = {}): Promise<Parsed> => pending(stage.app, stage.people.bot, { ...order(), ...body });
  const decisionOf = async (id: unknown): Promise<Parsed> =>
    (await send(stage.app, 'GET', `${DECISIONS}/${String(id)}`)).body;

  it.each(ALGORITHMS)(
    'are made by a device with %s for exactly this, and kept with what proves it',
    async (algorithm) => {
      const { app } = stage;
      const who = await signer(app, `signer ${algorithm}`, ['finance'], new SoftwareAuthenticator(algorithm));
      const { id, decisionId } = await waiting();
      const { status, body } = await signAndApprove(app, decisionId, who);
      expect([status, body.status, body.approvers]).toEqual([200, 'approved', [{ ...SIGNED, approvals: 1, given: 1 }]]);
      const { signature, groups } = body.reviews[0];
      expect(groups).toEqual([0]);
      expect(Object.keys(signature)).toEqual(['passkeyId', 'authenticatorData', 'clientDataJSON', 'signature']);
      expect(signature.passkeyId).toBe(who.passkeyId);
      expect((await resume(app, id)).status).toBe(200);
      const { body: entry } = await send(
        app,
        'GET',
        `/api/v1/provenance?subjectId=${decisionId}&action=decision.approved`,
      );
      const { state } = (await send(app, 'GET', `/api/v1/provenance/${entry.data[0].sequence}`)).body;
      expect(state.approvers).toEqual([{ ...SIGNED, approvals: 1 }]);
      expect(state.reviews[0].signature).toEqual(signature);
    },
  );

  it('are refused without a signature, on record, and one that is rejected needs none', async () => {
    const { app, people, sue } = stage;
    const { decisionId } = await waiting();
    for (const who of [people.ann, sue.agent])
      expect(reasonOf(await approve(app, decisionId, who))).toEqual([403, 'signature_required']);
    const entries = (await auditOf(app, String(decisionId))).slice(1);
    expect(entries.map(({ action, outcome, reason }) => [action, outcome, reason])).toEqual([
      ['decision.approval_denied', 'denied', 'signature_required'],
      ['decision.approval_denied', 'denied', 'signature_required'],
    ]);
    expect((await reject(app, decisionId, people.ann)).body).toMatchObject({
      status: 'rejected',
      reviews: [{ groups: [0] }],
    });
  });

  it('are refused in a spelling of DER that other verifiers do not read', async () => {
    const { app, sue } = stage;
    const numbersIn = (der: Buffer): Buffer => der.subarray(2);
    const spellings: Record<string, (der: Buffer) => Buffer> = {
      'a byte at the end': (der) => Buffer.concat([der, Buffer.from([0])]),
      'a long length': (der) => Buffer.concat([Buffer.from([0x30, 0x81, der.length - 2]), numbersIn(der)]),
      'no length': (der) => Buffer.concat([Buffer.from([0x30, 0x80]), numbersIn(der), Buffer.from([0, 0])]),
    };
    const { id, decisionId } = await waiting();
    for (const [name, respell] of Object.entries(spellings)) {
      const answer = await signAndApprove(app, decisionId, sue, {
        signature: sue.device.sign(signedOf(await decisionOf(decisionId), sue.agent.id), { respell }),
      });
      expect([name, ...reasonOf(answer)]).toEqual([name, 403, 'signature_invalid']);
    }
    expect((await signAndApprove(app, decisionId, sue)).body.status).toBe('approved');
    expect((await resume(app, id)).status).toBe(200);
  });

  it('are refused with a signature that the device did not make for exactly this', async () => {
    const { app, sue, tom, people } = stage;
    const { decisionId } = await waiting();
    const other = await decisionOf((await waiting()).decisionId);
    const decision = await decisionOf(decisionId);
    const right = signedOf(decision, sue.agent.id);
    const { device } = sue;
    const wrong = [
      device.sign(right, { origin: 'https://governance.example.evil' }),
      device.sign(right, { rpId: 'evil.example' }),
      device.sign(right, { type: 'webauthn.create' }),
      device.sign(right, { flags: 0x01 }),
      device.sign(signedOf(other, sue.agent.id)),
      device.sign(signedOf(decision, tom.agent.id)),
      device.sign({ ...right, verdict: 'reject' }),
      device.sign({ ...right, actionHash: 'a'.repeat(64) }),
      device.sign(signedOf(decision, sue.agent.id, { for: 'PT1H', uses: null, resources: null, parameters: 'same' })),
      tom.device.sign(right),
      new SoftwareAuthenticator().sign(right),
      { ...device.sign(right), id: tom.device.id },
      {},
    ];
    for (const signature of wrong) {
      const answer = await signAndApprove(app, decisionId, sue, { signature });
      expect(reasonOf(answer)).toEqual([403, 'signature_invalid']);
    }
    const large = await signAndApprove(app, decisionId, sue, { signature: { id: 'x'.repeat(8_192) } });
    expect(faults(large)).toEqual({ signature: 'must have at most 8192 bytes' });
    const denied = (await auditOf(app, String(decisionId))).slice(1);
    expect(denied.map(({ reason }) => reason)).toEqual(wrong.map(() => 'signature_invalid'));
    // Faults of the reviewer come first.
    const signature = device.sign(right);
    for (const [approverId, reason] of [
      [people.bot.id, 'self_approval'],
      [people.eve.id, 'not_an_approver'],
    ])
      expect(
        reasonOf(await send(app, 'POST', `${DECISIONS}/${decisionId}/approve`, { body: { approverId, signature } })),
      ).toEqual([403, reason]);
    expect((await signAndApprove(app, decisionId, sue)).body.status).toBe('approved');
    // A replayed assertion is for a decision that is settled.
    expect((await signAndApprove(app, decisionId, sue, { signature })).status).toBe(409);
    expect(reasonOf(await signAndApprove(app, other.id, sue, { signature }))).toEqual([403, 'signature_invalid']);
  });

  it('come after a policy that denies the reviewer', async () => {
    const { app, tom } = stage;
    const { decisionId } = await waiting();
    const deny = { effect: 'deny', actions: ['decision:approve'], subjects: ['agent:tom'], resources: ['decisions/*'] };
    const { id } = await createPolicy(app, { name: 'not tom', ...deny });
    expect((await approve(app, decisionId, tom.agent)).body.error.code).toBe('POLICY_DENIED');
    expect((await signAndApprove(app, decisionId, tom, { signature: {} })).body.error.code).toBe('POLICY_DENIED');
    await send(app, 'POST', `/api/v1/policies/${id}/deactivate`);
    expect((await signAndApprove(app, decisionId, tom)).status).toBe(200);
  });

  it('of other decisions sign what these say, and are checked where nothing asks for them', async () => {
    const { app, people, sue } = stage;
    const body = { title: 'Über “all” €', description: 'a\nb', context: { z: 1, a: [null, 1e21] }, riskLevel: 'low' };
    const plain = await propose(app, people.bot.id, body);
    const signature = sue.device.sign(signedOf(plain, sue.agent.id));
    const wrong = sue.device.sign({ ...signedOf(plain, sue.agent.id), title: 'Another' });
    expect(reasonOf(await signAndApprove(app, plain.id, sue, { signature: wrong }))).toEqual([
      403,
      'signature_invalid',
    ]);
    const { status, body: approved } = await signAndApprove(app, plain.id, sue, { signature });
    expect([status, approved.status, approved.reviews[0].groups]).toEqual([200, 'approved', null]);
    expect(approved.reviews[0].signature.passkeyId).toBe(sue.passkeyId);
    const proposal = await propose(app, people.bot.id, {
      ...body,
      approvers: [SIGNED, { subjects: ['role:finance', 'x'] }],
    });
    expect(proposal.approvers).toEqual([
      { ...SIGNED, approvals: 1, given: 0 },
      { subjects: ['role:finance', 'x'], approvals: 1, given: 0 },
    ]);
    // Without a signature a review fills the other group only.
    expect((await approve(app, proposal.id, people.ann)).body.reviews[0].groups).toEqual([1]);
    expect((await signAndApprove(app, proposal.id, sue)).body).toMatchObject({ status: 'approved' });
    const twice = { approvers: [SIGNED, { subjects: ['role:finance'] }], type: 'x', title: 'x', riskLevel: 'low' };
    const refused = await send(app, 'POST', DECISIONS, { body: { ...twice, proposedBy: people.bot.id } });
    expect(Object.keys(faults(refused))).toEqual(['approvers[1].subjects']);
  });

  it('are listed by who could sign, and are feasible only by them', async () => {
    const { app, people, sue } = stage;
    await send(app, 'POST', `/api/v1/agents/${people.ben.id}/suspend`);
    const subjects = ['agent:ann', 'agent:ben', 'agent:late'];
    const late = await reviewer(app, 'late', []);
    const decision = await propose(app, people.bot.id, { approvers: [{ subjects, signed: true }] });
    const approvers = async (): Promise<Parsed> =>
      (await send(app, 'GET', `${DECISIONS}/${decision.id}/approvers`)).body;
    const waits = async (id: string): Promise<string[]> =>
      (await send(app, 'GET', `${DECISIONS}?awaiting=${id}&limit=1000`)).body.data.map((one: Parsed) => one.id);
    const { data, feasible } = await approvers();
    expect(data.map((one: Parsed) => [one.name, one.groups, one.able, one.why])).toEqual([
      ['ann', [0], false, 'no_passkey'],
      ['ben', [0], false, 'suspended'],
      ['late', [0], false, 'no_passkey'],
    ]);
    expect(feasible).toBe(false);
    expect(await waits(late.agent.id)).not.toContain(decision.id);
    const path = `/api/v1/agents/${late.agent.id}/passkeys`;
    const { body: options } = await send(app, 'POST', `${path}/options`, { key: late.key });
    const credential = late.device.create(options['challenge']);
    await send(app, 'POST', path, { key: late.key, body: { credential, name: 'Key' } });
    expect((await approvers()).data[2]).toMatchObject({ able: true, why: null });
    expect((await approvers()).feasible).toBe(true);
    expect(await waits(late.agent.id)).toContain(decision.id);
    // A reviewer without a passkey fills the groups that need no signature.
    const both = [{ subjects, signed: true }, { subjects: ['agent:ann', 'x'] }];
    const mixed = await propose(app, people.bot.id, { approvers: both });
    const { body } = await send(app, 'GET', `${DECISIONS}/${mixed.id}/approvers`);
    expect(body).toMatchObject({
      feasible: true,
      data: [{ groups: [0, 1], able: true }, {}, { groups: [0], able: true }],
    });
    expect(await waits(sue.agent.id)).not.toContain(mixed.id);
    await send(app, 'POST', `/api/v1/agents/${people.ben.id}/resume`);
  });

  it('are never given to several decisions at once', async () => {
    const { app, people, sue } = stage;
    const plain = await propose(app, people.bot.id);
    const both = [SIGNED, { subjects: ['agent:sue', 'agent:ann'] }];
    const mixed = await propose(app, people.bot.id, { approvers: both });
    for (const signed of [await decisionOf((await waiting()).decisionId), mixed]) {
      const decisions = [plain, signed].map(({ id, actionHash }) => ({ id, actionHash }));
      const answer = await send(app, 'POST', `${DECISIONS}/approve`, { key: sue.key, body: { decisions } });
      expect(reasonOf(answer)).toEqual([403, 'signature_required']);
      expect((await auditOf(app, signed.id)).at(-1)?.reason).toBe('signature_required');
    }
    expect((await decisionOf(plain.id)).status).toBe('proposed');
  });

  it('count once their passkey is removed, which signs nothing more', async () => {
    const { app, tom } = stage;
    const gone = await signer(app, 'gone', ['finance']);
    const { id, decisionId } = await waiting();
    const { decisionId: later } = await waiting();
    expect((await signAndApprove(app, decisionId, gone)).status).toBe(200);
    await send(app, 'POST', `/api/v1/agents/${gone.agent.id}/passkeys/${gone.passkeyId}/remove`);
    expect((await resume(app, id)).status).toBe(200);
    expect(reasonOf(await signAndApprove(app, later, gone))).toEqual([403, 'signature_invalid']);
    expect((await signAndApprove(app, later, tom)).status).toBe(200);
  });

  it('lose what was signed once their decision is erased', async () => {
    const { app, people, sue } = stage;
    const { id } = await propose(app, people.bot.id, { title: 'of a person' });
    expect((await signAndApprove(app, id, sue)).status).toBe(200);
    const body = { subjects: [{ type: 'decision', id }], reason: 'asked for' };
    expect((await send(app, 'POST', '/api/v1/erasures', { body })).status).toBe(201);
    expect(Object.keys((await decisionOf(id)).reviews[0])).not.toContain('signature');
  });

  it('sign the grant that they give, which then serves while signed approvals are required', async () => {
    const { app, sue, people } = stage;
    const request = { ...order(), action: 'pay' };
    const { decisionId } = await waiting(request);
    const grant = { for: 'PT30M', uses: 5, resources: ['a/*', 'orders/*'], parameters: 'any' };
    expect(reasonOf(await signAndApprove(app, decisionId, sue, { grant }))).toEqual([403, 'signature_invalid']);
    const signature = sue.device.sign(signedOf(await decisionOf(decisionId), sue.agent.id, grant));
    expect(reasonOf(await signAndApprove(app, decisionId, sue, { signature }))).toEqual([403, 'signature_invalid']);
    expect((await signAndApprove(app, decisionId, sue, { grant, signature })).body.status).toBe('approved');
    const filled = { for: 'PT1H', parameters: 'same', resources: null, uses: null };
    const { decisionId: second } = await waiting({ action: 'pay', resourceId: 'b/1' });
    const short = sue.device.sign(signedOf(await decisionOf(second), sue.agent.id, filled));
    expect((await signAndApprove(app, second, sue, { grant: { for: 'PT1H' }, signature: short })).status).toBe(200);
    const served = await ask(app, people.bot, { action: 'pay', resourceId: 'a/1' });
    expect([served.status, typeof served.body.grantId]).toEqual([200, 'string']);
  });

  it('are required of a grant from the day on that a group is signed', async () => {
    const { app, people, sue } = stage;
    const grant = { for: 'PT1H' };
    const policy = (version: string, group: object): Promise<unknown> =>
      requireApproval(app, { approvers: [group], grant }, { name: 'ship', version, actions: ['ship'] });
    await policy('1', { subjects: ['role:finance'] });
    const granted = async (place: object, sent: object): Promise<void> => {
      const { id, decisionId } = await waiting({ ...place, action: 'ship' });
      const { status } = await send(app, 'POST', `${DECISIONS}/${decisionId}/approve`, sent);
      expect([status, (await resume(app, id)).status]).toEqual([200, 200]);
    };
    const [unsigned, signed] = [order(), order()];
    await granted(unsigned, { body: { approverId: people.ann.id, grant } });
    const { decisionId } = await waiting({ ...signed, action: 'ship' });
    const all = { for: 'PT1H', parameters: 'same', resources: null, uses: null };
    const signature = sue.device.sign(signedOf(await decisionOf(decisionId), sue.agent.id, all));
    expect((await signAndApprove(app, decisionId, sue, { grant, signature })).status).toBe(200);
    const statuses = async (): Promise<number[]> => {
      const answers = [];
      for (const place of [unsigned, signed])
        answers.push((await ask(app, people.bot, { ...place, action: 'ship', run: 'x' })).status);
      return answers;
    };
    expect(await statuses()).toEqual([200, 200]);
    await policy('2', SIGNED);
    expect(await statuses()).toEqual([202, 200]);
    const question = { agent: 'bot', action: 'ship', resourceType: 'payment', parameters: { amount: 80 } };
    const effects = [];
    for (const place of [unsigned, signed])
      effects.push(
        (await send(app, 'POST', '/api/v1/policies/evaluate', { body: { ...question, ...place } })).body.effect,
      );
    expect(effects).toEqual(['require_approval', 'allow']);
  });

  it('are compared where an approval is requested again or continued', async () => {
    const { app, people, sue } = stage;
    const policy = (version: string, group: object): Promise<unknown> =>
      requireApproval(app, { approvers: [group] }, { name: 'move', version, actions: ['move'] });
    await policy('1', { subjects: ['role:finance'] });
    const [one, two] = [order(), order()];
    const unsigned = await waiting({ ...one, action: 'move' });
    expect((await approve(app, unsigned.decisionId, people.ann)).status).toBe(200);
    const signed = await waiting({ ...two, action: 'move' });
    expect((await signAndApprove(app, signed.decisionId, sue)).body.reviews[0].groups).toEqual([0]);
    await policy('2', SIGNED);
    expect((await resume(app, unsigned.id)).body.error.reason).toBe('approval_insufficient');
    const again = await ask(app, people.bot, { ...one, action: 'move' });
    expect([again.status, again.body.id === unsigned.id]).toEqual([202, false]);
    // The reviewer of the other one had signed, though no policy required a signature.
    expect((await resume(app, signed.id)).status).toBe(200);
    const request = await waiting({ ...order(), action: 'move' });
    expect((await signAndApprove(app, request.decisionId, sue)).status).toBe(200);
    await policy('3', { subjects: ['role:finance'] });
    expect((await resume(app, request.id)).status).toBe(200);
  });

  it('are not replaced by a grant of a rejection that names what would be right', async () => {
    const { app, sue } = stage;
    const { id, decisionId } = await waiting();
    const body = { approverId: sue.agent.id, instead: { parameters: { amount: 1 } } };
    expect((await send(app, 'POST', `${DECISIONS}/${decisionId}/reject`, { body })).status).toBe(200);
    expect((await execution(app, id)).instead).toEqual({ parameters: { amount: 1 }, grantId: null });
  });

  it('are required where one of several policies asks for them', async () => {
    const { app } = stage;
    const rules = { actions: ['merge'], name: 'merge one' };
    await requireApproval(app, { approvers: [{ subjects: ['role:finance', 'role:b'], approvals: 2 }] }, rules);
    const signed = [{ subjects: ['role:b', 'role:finance'], signed: true }];
    const approvers = [...signed, { subjects: ['role:finance', 'role:b'] }, { subjects: ['x'], signed: false }];
    await requireApproval(app, { approvers }, { ...rules, name: 'merge two' });
    const { decisionId } = await waiting({ action: 'merge' });
    expect((await decisionOf(decisionId)).approvers).toEqual([
      { subjects: ['role:finance', 'role:b'], approvals: 2, given: 0, signed: true },
      { subjects: ['x'], approvals: 1, given: 0 },
    ]);
  });

  it('are part of what a plan changes, and a warning says where no approver could give them', async () => {
    const { app } = stage;
    const body = { effect: 'require_approval', subjects: ['*'], actions: ['plan'], resources: ['*'], version: '1' };
    const policy = (approval: object, version = '1'): object => ({ ...body, name: 'planned', version, approval });
    const unsigned = { approvers: [{ subjects: ['role:finance'] }] };
    const created = await send(app, 'POST', '/api/v1/policies', { body: policy(unsigned) });
    expect([created.status, created.body.warnings]).toEqual([201, []]);
    const planned = policy({ approvers: [SIGNED] }, '2');
    const { effects } = (await send(app, 'POST', '/api/v1/policies/plan', { body: { policies: [planned] } })).body;
    expect(effects).toHaveLength(1);
    expect(effects[0].from.approvers).toEqual([{ subjects: ['role:finance'], approvals: 1 }]);
    expect(effects[0].to.approvers).toEqual([{ ...SIGNED, approvals: 1 }]);
    const other = await createAgent(app, { name: 'no passkey', kind: 'human', roles: ['other'] });
    const warnings = async (approval: object): Promise<string[]> =>
      (await createPolicy(app, { effect: 'require_approval', actions: ['w'], approval })).warnings as string[];
    expect(
      await warnings({ approvers: [SIGNED, { subjects: ['role:other', `agent:${other.id}`], signed: true }] }),
    ).toEqual([
      `Nobody with a passkey matches approval.approvers[1] (role:other, agent:${other.id}), which is signed.`,
    ]);
    expect(await warnings({ approvers: [{ subjects: ['principal'], signed: true }] })).toEqual([]);
    expect(await warnings({ riskLevel: 'critical', approvers: [SIGNED] })).toEqual([]);
    expect(await warnings({ riskLevel: 'critical' })).toEqual([expect.stringContaining('no group is signed')]);
  });
});
