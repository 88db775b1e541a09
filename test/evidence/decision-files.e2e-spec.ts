import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { approve, ask, company, EXECUTIONS, order, pending, reject, resume } from '../approvals/support';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createEntity, createPolicy, issueKey } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { runVerifier, type VerifierRun } from '../support/processes/run-verifier';
import { canonical } from '../verification/recompute-chain';
import { agentIn, audits, changed, reasonOf, sameReviewer, states, withProofs } from './file-changes';
import { entryOf, forge } from './forged-file';
import { runProgram } from './run-program';

/** `EVIDENCE_FILES=50 EVIDENCE_BYTES=1000` changes as many bytes of as many files. */
const FILES = Number(process.env['EVIDENCE_FILES'] ?? 2);
const BYTES = Number(process.env['EVIDENCE_BYTES'] ?? 100);
const LIMIT = 64 * 2 ** 20;
const SERVICE = { type: 'system', id: 'service' };

describe('A decision file', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    const people = await company(app);
    const approvers = [{ subjects: ['role:finance'] }, { subjects: ['role:finance', 'role:security'] }];
    const approval = { approvers, riskLevel: 'high', executeWithin: 'PT30M' };
    await createPolicy(app, { name: 'refunds', effect: 'require_approval', actions: ['refund'], approval });
    await createPolicy(app, { name: 'sends', actions: ['send'] });
    await createPolicy(app, {
      name: 'no spam',
      actions: ['send'],
      effect: 'deny',
      conditions: [{ parameter: '/to', op: 'eq', value: 'all' }],
    });
    return { app, people };
  });
  /** Files that several tests change. */
  const files = { denied: '', carriedOut: '' };
  beforeAll(async () => {
    files.denied = await fileOf(await denied());
    files.carriedOut = await fileOf(await carriedOut());
  });
  const folder = mkdtempSync(join(tmpdir(), 'evidence-test-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Returns the file of an execution that two people approved, and that was refused once, resumed, and carried out. */
  async function carriedOut(): Promise<string> {
    const { app, people } = stage;
    const id = await approvedByTwo();
    await send(app, 'POST', `/api/v1/agents/${people.eve.id}/suspend`);
    expect((await resume(app, id)).body.error.reason).toBe('approval_insufficient');
    await send(app, 'POST', `/api/v1/agents/${people.eve.id}/resume`);
    expect((await resume(app, id)).status).toBe(200);
    await send(app, 'POST', `${EXECUTIONS}/${id}/result`, { body: { outcome: 'executed', result: { paid: 80 } } });
    return id;
  }

  async function denied(): Promise<string> {
    const { app, people } = stage;
    const resourceId = order().resourceId;
    await ask(app, people.bot, { action: 'send', resourceId, parameters: { to: 'all' } });
    return (await send(app, 'GET', `${EXECUTIONS}?resourceId=${resourceId}`)).body.data[0].id;
  }

  async function fileOf(id: string): Promise<string> {
    return (await send(stage.app, 'GET', `${EXECUTIONS}/${id}/evidence`)).text;
  }

  it('is what anyone can put together from other routes', async () => {
    for (const id of [await carriedOut(), await denied()]) {
      expect(await fileOf(id)).toBe(await runProgram('assemble-file', stage.app.url, id));
    }
  });

  async function publicKeyOf(app: TestApp): Promise<string> {
    return (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body.publicKey;
  }

  async function verify(text: string, ...words: readonly string[]): Promise<VerifierRun> {
    const path = join(folder, 'decision.evidence.json');
    writeFileSync(path, text);
    const key = words.includes('--public-key') ? [] : ['--public-key', await publicKeyOf(stage.app)];
    const run = await runVerifier([path, ...words, ...key]);
    expect(`${run.output}${run.errors}`).not.toMatch(/\n {4}at |[^\P{Cc}\n]/u);
    return run;
  }

  /** The exit code and the last line. */
  async function verdictOn(text: string, ...words: readonly string[]): Promise<[number | null, string]> {
    const { exitCode, output, errors } = await verify(text, ...words);
    return [exitCode, (output || errors).trimEnd().split('\n').at(-1) ?? ''];
  }

  it('says what was asked, what the policies said, who approved as what, and what was done', async () => {
    const { exitCode, output } = await verify(files.carriedOut);
    expect(exitCode).toBe(0);
    const sentences = [
      /bot \(agt_\w+, revision 1: active machine with the roles billing\) requested refund on payment\/orders\/\d+ with the parameters \{"amount":80\}\./,
      /Of the 3 policies in force, 1 matches and decides: refunds 1\.0 \(require_approval, priority 0\)\./,
      /So an approval was required: 1 of role:finance and 1 of role:finance or role:security; risk high, to be decided until .*, then good for PT30M\./,
      /ann \(.*\) approved it as role:finance and role:finance or role:security\./,
      /Not every group was filled by then: 1 of 2 approvals\./,
      /eve \(.*\) approved it as role:finance or role:security\./,
      /approved it as role:finance or role:security\. It was sent with the operator’s key \(env\)\./,
      /\nNOTE The review of entry \d+ was sent with the operator’s key, which can name any reviewer\.\n/,
      /With that every group was filled by different reviewers: approved\./,
      /So it was authorized, and the approval was used up\./,
      /The caller reported the result: executed, with the result \{"paid":80\}\./,
      /NOTE A file cannot show that it has all entries/,
      /\nRECOMPUTED: executed as recorded\n$/,
    ];
    for (const sentence of sentences) expect(output).toMatch(sentence);
  });

  it('says on whose behalf it was, and in which run', async () => {
    const { app, people } = stage;
    const sue = await createAgent(app, { name: 'sue', kind: 'human', roles: ['sales'] });
    const onBehalfOf = { subject: 'agent:sue' };
    const waiting = await pending(app, people.bot, { ...order(), onBehalfOf, run: 'run 7' });
    for (const one of [people.ann, people.eve]) await approve(app, waiting.decisionId, one);
    await send(app, 'POST', `/api/v1/agents/${sue.id}/suspend`);
    await resume(app, waiting.id);
    await send(app, 'POST', `/api/v1/agents/${sue.id}/resume`);
    await resume(app, waiting.id);
    const text = await fileOf(waiting.id);
    expect(text).toBe(await runProgram('assemble-file', app.url, waiting.id));
    const { exitCode, output } = await verify(text);
    expect({ exitCode, output }).toEqual({
      exitCode: 0,
      output: expect.stringMatching(/on behalf of sue \(agt_\w+, revision 1: .*, in the run "run 7"\./),
    });
    expect(output).toContain('The person on whose behalf it acted was suspended, so no policy was consulted.');
    const user = { subject: 'user:7', roles: ['vip'] };
    const vip = await createPolicy(app, { name: 'vip', actions: ['send'], priority: 1, onBehalfOf: ['role:vip'] });
    const sent = (await ask(app, people.bot, { action: 'send', parameters: { to: 'x' }, onBehalfOf: user })).body;
    const ofUser = await verify(await fileOf(sent.id));
    expect(ofUser.output).toContain(', on behalf of user:7 with the roles vip.');
    expect(ofUser.output).toContain('Decided by vip 1.0 (allow, priority 1)');
    expect(ofUser.exitCode).toBe(0);
    await send(app, 'POST', `/api/v1/policies/${vip.id}/deactivate`);
    const forged = forge(text, (file) => {
      const person = file.entries.find(({ state }: Parsed) => state?.name === 'sue' && state.revision === 3);
      person.state.status = 'suspended';
    });
    expect(await verdictOn(forged.text, '--public-key', forged.publicKey)).toEqual([
      1,
      expect.stringMatching(/^DIFFERS/),
    ]);
  });

  it('says which key or token sent a review, and warns only of the operator’s', async () => {
    const { app, people } = stage;
    const key = await issueKey(app, { scopes: ['review'], agentId: people.ben.id });
    const { id, decisionId } = await pending(app, people.bot, order());
    const body = { approverId: people.ben.id };
    const rejection = await send(app, 'POST', `/api/v1/decisions/${decisionId}/reject`, { body, key: key.secret });
    expect(rejection.status).toBe(200);
    const { output } = await verify(await fileOf(id));
    expect(output).toContain(
      `rejected it as role:finance and role:finance or role:security. It was sent with the key ${key.id}.`,
    );
    expect(output).not.toContain('operator’s key');
  });

  it('quotes names that could be taken for a part of its sentences', async () => {
    const { app } = stage;
    const name = 'bot (trusted) was authorized.';
    const agent = await createAgent(app, { name, capabilities: ['pay now'], roles: ['clerk and approver'] });
    await createPolicy(app, { name: 'all match. So', actions: ['pay now'] });
    await ask(app, agent, { action: 'pay now', resourceType: 'payment', resourceId: 'a with no parameters.' });
    const { data } = (await send(app, 'GET', `${EXECUTIONS}?agentId=${agent.id}`)).body;
    const { exitCode, output } = await verify(await fileOf(data[0].id));
    expect(exitCode).toBe(0);
    expect(output).toContain(
      `"${name}" (${agent.id}, revision 1: active machine with the roles "clerk and approver") requested ` +
        '"pay now" on "payment/a with no parameters." with the parameters',
    );
    expect(output).toContain('1 matches and decides: "all match. So" 1.0 (allow, priority 0).');
  });

  it('of what was denied, rejected, cancelled, expired or refused at a resume recomputes', async () => {
    const { app, people } = stage;
    const rejected = await pending(app, people.bot, order());
    await reject(app, rejected.decisionId, people.ben, 'Not \u001b[2J\u001b[31mthis\u202e.');
    const again = (await ask(app, people.bot, { resourceId: rejected.resourceId })).body.error;
    expect(again.reason).toBe('approval_rejected');
    const refusals = (await send(app, 'GET', `${EXECUTIONS}?resourceId=${rejected.resourceId}&outcome=denied`)).body
      .data;
    const byProposer = await pending(app, people.bot, order());
    await reject(app, byProposer.decisionId, people.bot);
    const byKey = await pending(app, people.bot, order());
    await reject(app, byKey.decisionId);
    const cancelled = await pending(app, people.bot, order());
    await send(app, 'POST', `${EXECUTIONS}/${cancelled.id}/cancel`, { body: { reason: 'Not needed.' } });
    const waiting = await pending(app, people.bot, order());
    const { id: entityId } = await createEntity(app);
    const resourceId = `accounts/${entityId}`;
    const about = (await ask(app, people.bot, { action: 'send', resourceId, parameters: { to: 'one' } })).body;
    const resumed = await approvedByTwo();
    await send(app, 'POST', `/api/v1/agents/${people.eve.id}/suspend`);
    await resume(app, resumed);
    await send(app, 'POST', `/api/v1/agents/${people.eve.id}/resume`);
    await ask(app, people.bot, { action: 'delete', ...order() });
    const { data } = (await send(app, 'GET', `${EXECUTIONS}?action=delete`)).body;
    for (const [id, outcome] of [
      [rejected.id, 'rejected'],
      [refusals[0].id, 'denied'],
      [byProposer.id, 'rejected'],
      [byKey.id, 'rejected'],
      [cancelled.id, 'cancelled'],
      [waiting.id, 'pending_approval'],
      [about.id, 'authorized'],
      [resumed, 'approved'],
      [data[0].id, 'denied'],
      [await denied(), 'denied'],
    ]) {
      expect(await verdictOn(await fileOf(id))).toEqual([0, `RECOMPUTED: ${outcome} as recorded`]);
    }
  });

  async function approvedByTwo(): Promise<string> {
    const { app, people } = stage;
    const { id, decisionId } = await pending(app, people.bot, order());
    await approve(app, decisionId, people.ann);
    await approve(app, decisionId, people.eve);
    return id;
  }

  it('is held against an export of all entries', async () => {
    const { app } = stage;
    const text = await fileOf(await carriedOut());
    await createPolicy(app, { name: 'later', actions: ['later'] });
    const log = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    const path = join(folder, 'export.ndjson');
    writeFileSync(path, log);
    const whole = await verify(text, '--export', path);
    expect(whole.output).toMatch(
      /\nNOTE That the operator’s clock was right rests on the operator’s word\.\nRECOMPUTED: executed as recorded\n$/,
    );
    expect(whole.output).not.toContain('A file cannot show');
    const lacking = JSON.parse(text);
    const { sequence } = entryOf(lacking, 'execution.completed');
    lacking.entries = lacking.entries.filter((entry: Parsed) => entry.sequence !== sequence);
    expect(await verdictOn(canonical(lacking))).toEqual([0, 'RECOMPUTED: authorized as recorded']);
    expect(await verdictOn(canonical(lacking), '--export', path)).toEqual([
      1,
      `DIFFERS: entry ${sequence}: the file lacks this entry, execution.completed`,
    ]);
    writeFileSync(path, log.slice(0, log.indexOf('"sequence":9')));
    expect((await verdictOn(text, '--export', path))[0]).toBe(1);
  });

  it.each<[what: string, change: (text: string) => string, exitCode: number, fault: RegExp]>([
    ['cut off', (text) => text.slice(0, -9), 2, /not JSON, or was cut off/],
    ['cut in half', (text) => text.slice(0, text.length / 2), 2, /not JSON, or was cut off/],
    ['empty', () => '', 2, /not JSON/],
    ['something else', () => '{}', 2, /not a decision file/],
    ['with a byte order mark', (text) => `\ufeff${text}`, 2, /not JSON/],
    [
      'pretty-printed',
      (text) => JSON.stringify(JSON.parse(text), null, 2),
      1,
      /not spelled as RFC 8785 says, from character 2 on/,
    ],
    ['with a final newline', (text) => `${text}\n`, 1, /not spelled as RFC 8785 says/],
    ['with a member twice', (text) => text.replace('{', '{"checkpoint":"",'), 1, /a member twice/],
    ['with an unknown member', changed((file) => (file.more = 1)), 1, /unknown member "more"/],
    ['of another format', changed((file) => (file.format = 'agent-governance-evidence/3')), 2, /its format is .*3"/],
    [
      'with an entry of version 3',
      changed((file) => (file.entries[0].v = 3)),
      1,
      /v is 3: this verifier knows versions 1 and 2/,
    ],
    ['of later rules', changed((file) => (file.rules[0].evaluation = 5)), 1, /rules of evaluation are number 5/],
    [
      'with a million entries',
      changed((file) => (file.entries = Array.from({ length: 1e6 }, () => ({})))),
      1,
      /entries\[0\]/,
    ],
    ['with a million lists in lists', () => '['.repeat(1e6), 2, /deeper than 100 levels/],
    [
      'with millions of values',
      (text) => text.replace('"entries":[', `"entries":[${'0,'.repeat(5e6)}`),
      2,
      /more than 4000000 values/,
    ],
    [
      'with a policy too many',
      changed((file) => file.policies.push({ ...file.policies[0], id: 'pol_z' })),
      1,
      /pol_z: is in none of the rules/,
    ],
    ['with a policy too few', changed((file) => file.policies.pop()), 1, /is not in the file/],
    [
      'with a policy changed',
      changed((file) => (file.policies[0].priority = 1)),
      1,
      /are not these policies with these contents/,
    ],
    [
      'with a policy left out of the rules',
      changed((file) => file.rules[0].policies.pop()),
      1,
      /are not these policies/,
    ],
    ['with another default', changed((file) => (file.rules[0].defaultEffect = 'allow')), 1, /this default effect/],
    ['without its rules', changed((file) => (file.rules = [])), 1, /are not in the file/],
    [
      'with entries in another order',
      changed((file) => file.entries.reverse()),
      1,
      /not in the order of their sequence/,
    ],
    ['with an erased entry', changed((file) => (file.entries[0].erased = 99)), 1, /was erased/],
    ['with a checkpoint that is none', changed((file) => (file.checkpoint = 'x')), 1, /no signed note/],
    ['with an escape in it', changed((file) => (file.format = '\u001b[2J')), 2, /"\\\\u001b\[2J"|u001b/],
  ])('%s is refused with a sentence', async (_what, change, exitCode, fault) => {
    const { exitCode: code, output, errors } = await verify(change(files.denied));
    expect([code, `${output}${errors}`]).toEqual([exitCode, expect.stringMatching(fault)]);
  });

  it('too large for one is refused unread', async () => {
    const path = join(folder, 'large.evidence.json');
    writeFileSync(path, '{');
    truncateSync(path, 16 * LIMIT);
    const { exitCode, errors } = await runVerifier([path, '--public-key', await publicKeyOf(stage.app)]);
    expect([exitCode, errors]).toEqual([2, expect.stringMatching(/a decision file has 67108864 at most/)]);
  });

  it('is known by what it begins with, too', async () => {
    const path = join(folder, 'renamed.json');
    writeFileSync(path, files.denied);
    const { output } = await runVerifier([path, '--public-key', await publicKeyOf(stage.app)]);
    expect(output).toMatch(/\nRECOMPUTED: denied as recorded\n$/);
  });

  it('needs a key from elsewhere, and the right one', async () => {
    const text = files.denied;
    const path = join(folder, 'decision.evidence.json');
    writeFileSync(path, text);
    const { exitCode, errors } = await runVerifier([path]);
    expect([exitCode, errors]).toEqual([2, expect.stringMatching(/cannot vouch for itself/)]);
    const misspelt = await runVerifier([path, '--public-key', 'key.txtt']);
    expect([misspelt.exitCode, misspelt.errors]).toEqual([
      2,
      expect.stringContaining('key.txtt: there is no such file'),
    ]);
    const { publicKey } = forge(text, () => undefined);
    expect(await verdictOn(text, '--public-key', publicKey)).toEqual([1, expect.stringMatching(/^INVALID/)]);
  });

  it('with an entry of another execution, or a proof to another size, does not pass', async () => {
    const [one, other] = [await fileOf(await denied()), await fileOf(await denied())];
    const [file, older] = [JSON.parse(other), JSON.parse(one)];
    expect(await verdictOn(canonical({ ...file, entries: withProofs(file, older) }))).toEqual([
      1,
      expect.stringMatching(/^INVALID/),
    ]);
    const both = JSON.parse(await fileOf(older.executionId));
    both.entries.push(file.entries.at(-1));
    expect(await verdictOn(canonical(both))).toEqual([
      1,
      expect.stringMatching(/^DIFFERS: .*nothing that this decision rests on/),
    ]);
  });

  it('has nothing that can be changed unnoticed, at any byte', async () => {
    const publicKey = await publicKeyOf(stage.app);
    const path = join(folder, 'small.evidence.json');
    writeFileSync(path, await fileOf(await denied()));
    const all = JSON.parse(await runProgram('change-bytes', stage.app.url, path, publicKey, 'all', '1'));
    expect(all).toEqual({ changes: expect.any(Number), unfound: [] });
    for (let number = 0; number < FILES; number += 1) {
      writeFileSync(path, await fileOf(number % 2 === 0 ? await carriedOut() : await denied()));
      const some = JSON.parse(
        await runProgram('change-bytes', stage.app.url, path, publicKey, String(BYTES), String(number)),
      );
      expect(some).toEqual({ changes: BYTES, unfound: [] });
    }
  }, 900_000);

  it('that was sealed anew as it is recomputes', async () => {
    const { text, publicKey } = forge(files.carriedOut, () => undefined);
    expect(await verdictOn(text, '--public-key', publicKey)).toEqual([0, 'RECOMPUTED: executed as recorded']);
  });

  it.each<[what: string, change: (file: Parsed) => void, difference: RegExp]>([
    [
      'an agent without the capability',
      agentIn(0, (agent) => (agent.capabilities = ['send'])),
      /the deciding policies/,
    ],
    ['a suspended agent', agentIn(0, (agent) => (agent.status = 'suspended')), /the deciding policies/],
    [
      'an agent of another revision',
      agentIn(0, (agent) => (agent.revision = 2)),
      /has no entry of the agent .* at revision 1/,
    ],
    [
      'a reviewer without the role',
      agentIn(1, (agent) => (agent.roles = ['other'])),
      /the groups of the review is recorded as \[0,1\], and computed as \[\]/,
    ],
    ['a machine as reviewer', agentIn(1, (agent) => delete agent.kind), /the groups of the review/],
    ['a suspended reviewer', agentIn(2, (agent) => (agent.status = 'suspended')), /the status of the reviewer/],
    [
      'a policy that denies',
      ({ policies: [refunds] }) => delete Object.assign(refunds, { effect: 'deny' }).approval,
      /the effect is recorded as "require_approval", and computed as "deny"/,
    ],
    [
      'a policy that requires more',
      ({ policies: [refunds] }) => (refunds.approval.approvers[0].approvals = 2),
      /the decision’s approvers/,
    ],
    [
      'a policy that denies the review',
      ({ policies: [, sends] }) => Object.assign(sends, { effect: 'deny', actions: ['decision:approve'] }),
      /the policy sends denies this review/,
    ],
    [
      'an approval that is good for longer',
      states('approvedUntil', '2099-01-01T00:00:00.000Z'),
      /approvedUntil is recorded as "2099/,
    ],
    ['a decision that expires later', states('expiresAt', '2099-01-01T00:00:00.000Z'), /the decision’s expiresAt/],
    [
      'other parameters at the resume',
      (file) => (entryOf(file, 'execution.resumed').state.parameters = { amount: 8000 }),
      /parameters, which this entry does not change/,
    ],
    [
      'another deciding policy',
      (file) => (entryOf(file, 'execution.resumed').audit.details.policies = []),
      /the deciding policies/,
    ],
    ['another action hash', states('actionHash', '0'.repeat(64)), /actionHash is recorded/],
    [
      'one approval of two',
      (file) => Object.assign(entryOf(file, 'decision.reviewed').state, { status: 'approved' }),
      /the status is recorded as "approved", and computed as "proposed"/,
    ],
    ['the same reviewer twice', sameReviewer, /reviewed it twice/],
    ['a review after the end', states('expiresAt', '2020-01-01T00:00:00.000Z'), /the review came at/],
    ['a resume after the end', states('approvedUntil', '2020-01-01T00:00:00.000Z'), /the approval had ended/],
    [
      'a reason that was none',
      reasonOf('execution.resume_denied', 'capability_missing'),
      /the reason is recorded as "capability_missing"/,
    ],
    [
      'a member of later rules',
      (file) => (entryOf(file, 'execution.resumed').audit.details.limitId = 'lim_1'),
      /details.limitId is not known/,
    ],
    [
      'an outcome before its cause',
      (file) => (entryOf(file, 'execution.completed').state.outcome = 'failed'),
      /the outcome is recorded as "failed"/,
    ],
    [
      'a refusal that was a success',
      audits('execution.resume_denied', { outcome: 'success' }),
      /with the outcome "success"/,
    ],
    [
      'a success that was refused',
      audits('execution.approval_requested', { outcome: 'denied' }),
      /with the outcome "denied"/,
    ],
    ['an approval by the service', audits('decision.approved', { actor: SERVICE }), /with the actor .*"system"/],
    [
      'an actor that is none',
      audits('decision.reviewed', { actor: { type: 'agent', id: 'a' } }),
      /with the actor .*"agent"/,
    ],
    ['another acting agent', audits('execution.completed', { agentId: 'agt_x' }), /with the agentId "agt_x"/],
    ['another entity', audits('execution.resumed', { entityId: 'ent_x' }), /with the entityId "ent_x"/],
    ['an entity of a decision', audits('decision.proposed', { entityId: 'ent_x' }), /with the entityId "ent_x"/],
    ['an agent registered by the service', audits('agent.created', { actor: SERVICE }), /writes no agent.created/],
    [
      'a time that goes back',
      (file) => (entryOf(file, 'execution.completed').timestamp = '2020-01-01T00:00:00.000Z'),
      /is before that of the entry before/,
    ],
  ])('with %s differs, even if every hash and signature holds', async (_what, change, difference) => {
    const forged = forge(files.carriedOut, change);
    const { exitCode, output } = await verify(forged.text, '--public-key', forged.publicKey);
    expect([exitCode, output]).toEqual([1, expect.stringMatching(difference)]);
    expect(output).toMatch(/\nDIFFERS: .*\n$/);
  });
});
