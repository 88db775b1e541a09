import { approve, approvedChange, changeHeader, FOUR_EYES, newPolicy, type Person, register } from '../changes/support';
import { ORIGIN } from '../support/application/authenticator';
import { createTestApp } from '../support/application/create-test-app';
import { type Parsed, send } from '../support/application/send';
import { signer } from '../support/application/signers';
import { stageOf } from '../support/application/stage';
import { reviewerIn } from './file-changes';
import { entryOf, forge } from './forged-file';
import { eraseIn } from './erased-log';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyChange, verifyFile } from './verified-file';

const POLICIES = '/api/v1/policies';
const EMERGENCY = { 'Break-Glass': encodeURIComponent('The only reviewer is ill') };

describe('The decision file of an emergency', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { ...FOUR_EYES, PUBLIC_URL: ORIGIN } });
    const dan = await signer(app, 'dan', []);
    const ada = await register(app, 'ada');
    await send(app, 'POST', POLICIES, { body: newPolicy(), headers: EMERGENCY });
    await send(app, 'POST', '/api/v1/agents', { body: { name: 'hasty' }, headers: EMERGENCY });
    const { data } = (await send(app, 'GET', '/api/v1/decisions?type=change_review&order=asc')).body;
    const [first, second] = data as [Parsed, Parsed];
    await approve(app, first.id, { ...dan, ...dan.agent });
    await approve(app, first.id, ada);
    await approve(app, second.id, ada);
    const { madeAt: _madeAt, ...change } = second.change;
    const { id: decisionId, context, description, riskLevel, title } = second;
    const signed = {
      context,
      decisionId,
      description,
      riskLevel,
      title,
      change,
      agentId: dan.agent.id,
      verdict: 'approve',
    };
    const body = { approverId: 'dan', signature: dan.device.sign(signed) };
    const path = `/api/v1/decisions/${decisionId}/approve`;
    expect((await send(app, 'POST', path, { key: dan.key, body })).status).toBe(200);
    return { app, ada, dan, first, second };
  });

  it('tells who broke the glass and why, and who reviewed it', async () => {
    const { app, ada, first, second } = stage;
    for (const { id } of [first, second]) {
      const { output } = await verifyChange(app, id);
      expect(output).toMatch(/\nRECOMPUTED: approved as recorded\n$/);
      expect(output).toContain(
        'The holder of the operator’s key (env) made a change in an emergency, for the reason "The only reviewer is ill": ',
      );
      // The first was open, so that whoever was registered after it could not review the second.
      expect(output).toContain(`Two people who were registered before ${first.createdAt} had to review it.`);
    }
    expect((await verifyChange(app, first.id)).output).toContain(`ada (${ada.id}, revision 1`);
  });

  it('has the signature of its reviewer, who does not sign when it was made', async () => {
    const { app, second } = stage;
    expect((await verifyChange(app, second.id)).output).toContain('verified its user and signed exactly this approval');
  });

  it('was made with a key that has admin, as an export shows', async () => {
    const { app, dan, first } = stage;
    const { log } = await keyAndLog(app);
    const text = await decisionFileOf(app, first as { id: string });
    const made = forgeLog({ text, log }, (entries) => {
      const key = entries.find(({ action, state }) => action === 'api_key.created' && state.agentId === dan.agent.id);
      key.state.agentId = key.audit.agentId = null;
      const actor = { type: 'api_key', id: key.subjectId };
      for (const { audit, state } of entries) {
        if (audit.details.breakGlass === true) audit.actor = actor;
        if (state?.id === first.id) state.actor = actor;
      }
      return entries;
    });
    const { output } = await verifyFile(made.text, made.publicKey, made.log);
    expect(output).toMatch(/\nDIFFERENCE .*the key key_\w+, which broke the glass, had not the scope admin\n/);
    expect(output).toMatch(/\nDIFFERS: .*\n$/);
  });

  it('removes the passkey of somebody', async () => {
    const { app, dan } = stage;
    const path = `/api/v1/agents/dan/passkeys/${dan.passkeyId}/remove`;
    expect((await send(app, 'POST', path, { headers: EMERGENCY })).status).toBe(200);
    const { data } = (await send(app, 'GET', '/api/v1/decisions?type=change_review&status=proposed')).body;
    const { output } = await verifyChange(app, data[0].id);
    expect(output).toContain(`By this change: the passkey ${dan.passkeyId} was removed.`);
    expect(output).toContain('Its body follows from the entries, and has the hash that was approved.');
    expect(output).toMatch(/\nRECOMPUTED: proposed as recorded\n$/);
  });

  it.each<[string, (file: Parsed, stage: { ada: Person }) => void, string]>([
    [
      'without a trace of the glass',
      ({ entries }) => delete madeIn({ entries }).audit.details.breakGlass,
      'breakGlass',
    ],
    ['for another reason', ({ entries }) => (madeIn({ entries }).audit.reason = 'Other words'), 'the reason'],
    ['reviewed by who was registered in it', lateReviewer, 'who reviewed it, was registered at'],
    ['reviewed by a machine', (file) => (reviewerIn(file).kind = 'machine'), 'only people decide on changes'],
    ['reviewed by who broke it', ownReview, 'who broke the glass reviewed it'],
    [
      'reviewed with the operator’s key',
      (file) => (entryOf(file, 'decision.approved').audit.actor = { type: 'api_key', id: 'env' }),
      'decides on no change',
    ],
  ])('%s does not recompute', async (_label, change, expected) => {
    const { text, publicKey } = forge(await decisionFileOf(stage.app, stage.first), (file: Parsed) => {
      change(file, stage);
    });
    const { output } = await verifyFile(text, publicKey);
    expect(output).toMatch(/\nDIFFERS: /);
    expect(output).toContain(expected);
  });

  it('is reviewed by who was registered before all that were open, as an export shows', async () => {
    const { app, first, second } = stage;
    const text = await decisionFileOf(app, second);
    const { log } = await keyAndLog(app);
    const outputs = [];
    for (const how of ['as it was', 'erased', 'erased alone'] as const) {
      const forged = forgeLog({ text, log }, (entries) => {
        for (const { subjectId, state } of entries)
          if (subjectId === second.id) state.context.before = second.createdAt;
        if (how === 'as it was') return entries;
        const isTaken = ({ subjectId, action }: Parsed): boolean =>
          subjectId === first.id && (how === 'erased' || action !== 'decision.proposed');
        return eraseIn(entries, ['decision', first.id], isTaken);
      });
      outputs.push((await verifyFile(forged.text, forged.publicKey, forged.log)).output);
    }
    const difference = /DIFFERENCE entry \d+: its reviewer had to be registered before /;
    expect(outputs[0]).toMatch(difference);
    expect(outputs[1]).toMatch(
      /The export has 1 erased decisions before the emergency: whether one of them was about an/,
    );
    // Its own review came later: by then it was open.
    expect(outputs[2]).toMatch(difference);
  });
});

describe('The decision file of a change next to an emergency', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: FOUR_EYES });
    const [ada, ben] = [await register(app, 'ada'), await register(app, 'ben')];
    const key = { name: 'sock', scopes: ['review'], agentId: ben.id };
    const made = await send(app, 'POST', '/api/v1/api-keys', { body: key, headers: EMERGENCY });
    const [emergency] = (await send(app, 'GET', '/api/v1/decisions?type=change_review')).body.data as [Parsed];
    const body = newPolicy();
    const id = await approvedChange(app, ['POST', POLICIES, { body }], [ada]);
    const refused = await approve(app, id, { ...ben, key: made.body.secret });
    expect(refused.status).toBe(403);
    expect((await approve(app, id, ben)).body.status).toBe('approved');
    await send(app, 'POST', '/api/v1/agents/ada/suspend');
    await send(app, 'POST', '/api/v1/agents/ada/resume', { headers: EMERGENCY });
    expect((await send(app, 'POST', POLICIES, { body, ...changeHeader(id) })).status).toBe(201);
    for (const person of [ada, ben]) expect((await approve(app, emergency.id, person)).status).toBe(200);
    return { app, people: [ada, ben], sock: { type: 'api_key', id: String(made.body.id) }, id, emergency };
  });

  it('recomputes, with a review that was refused because of its key', async () => {
    const { app, id, emergency } = stage;
    expect((await verifyChange(app, id)).output).toMatch(/\nRECOMPUTED: made as recorded\n$/);
    expect((await verifyChange(app, emergency.id)).output).toMatch(/\nRECOMPUTED: approved as recorded\n$/);
  });

  it('recomputes if it changed somebody who had approved it', async () => {
    const { app, people } = stage;
    const path = '/api/v1/agents/ada';
    const sent = { body: { roles: ['board'] } };
    const id = await approvedChange(app, ['PATCH', path, sent], people);
    expect((await send(app, 'PATCH', path, { ...sent, ...changeHeader(id) })).status).toBe(200);
    expect((await verifyChange(app, id)).output).toMatch(/\nRECOMPUTED: made as recorded\n$/);
  });

  it('does not if it was approved with a key that the emergency had made, unless that took one person', async () => {
    const { app, id, sock, emergency } = stage;
    const text = await decisionFileOf(app, { id });
    const { log } = await keyAndLog(app);
    const outputs = [];
    for (const approvals of [2, 1]) {
      const forged = forgeLog({ text, log }, (entries) => {
        entryOf({ entries }, 'decision.approved').audit.actor = sock;
        if (approvals === 2) return entries;
        for (const { subjectId, state, audit } of entries) {
          if (subjectId !== emergency.id) continue;
          state.requiredApprovals = audit.details.requiredApprovals = 1;
          state.approvers = [{ ...state.approvers[0], approvals }];
        }
        const [, first = {}, second] = entries.filter(({ subjectId }) => subjectId === emergency.id);
        first['action'] = first['audit'].action = 'decision.approved';
        Object.assign(first['state'], { status: 'approved', resolvedAt: first['timestamp'] });
        for (const { sequence, audit } of entries) {
          if (sequence < second?.['sequence'] || audit.details.firstSequence === undefined) continue;
          audit.details.firstSequence -= 1;
          audit.details.lastSequence -= 1;
        }
        return entries.filter((entry) => entry !== second);
      });
      outputs.push((await verifyFile(forged.text, forged.publicKey, forged.log)).output);
    }
    expect(outputs[0]).toContain(`the key ${sock.id} was made in an emergency that nobody had reviewed`);
    expect(outputs[1]).toMatch(/\nRECOMPUTED: made as recorded\n$/);
  });

  it.each<[string, 'id' | 'emergency', (entries: Parsed[]) => void, string]>([
    [
      'made while somebody who had approved it was suspended',
      'id',
      (entries) => (entryOf({ entries }, 'agent.resumed').state.status = 'suspended'),
      'the change was made while somebody who had approved it was suspended',
    ],
    [
      'reviewed with a key that it had made',
      'emergency',
      (entries) => {
        const { subjectId: id } = entryOf({ entries }, 'api_key.created');
        entryOf({ entries }, 'decision.approved').audit.actor = { type: 'api_key', id };
      },
      'the key of the review was made in the emergency',
    ],
    [
      'settled by one person',
      'emergency',
      (entries) => {
        const { state } = entryOf({ entries }, 'decision.reviewed');
        Object.assign(state, { status: 'rejected', resolvedAt: state.updatedAt });
      },
      'the status',
    ],
  ])('%s does not recompute', async (_label, which, change, expected) => {
    const id = which === 'id' ? stage.id : stage.emergency.id;
    const forged = forge(await decisionFileOf(stage.app, { id }), ({ entries }: Parsed) => change(entries));
    const { output } = await verifyFile(forged.text, forged.publicKey);
    expect(output).toMatch(/\nDIFFERS: /);
    expect(output).toContain(expected);
  });
});

/** The entry that the emergency has made. */
function madeIn({ entries }: Parsed): Parsed {
  return entries.find(({ action }: Parsed) => action === 'policy.created');
}

function lateReviewer(file: Parsed): void {
  for (const { subjectId, state } of file.entries)
    if (subjectId.startsWith('dec_')) state.context.before = reviewerIn(file).createdAt;
}

function ownReview(file: Parsed, { ada }: { ada: Person }): void {
  for (const entry of file.entries)
    if (entry.subjectId.startsWith('dec_')) {
      entry.state.proposedBy = ada.id;
      if (entry.action === 'decision.proposed') entry.audit.agentId = ada.id;
    }
}
