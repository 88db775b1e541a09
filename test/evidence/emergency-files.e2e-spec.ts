import { approve, FOUR_EYES, newPolicy, type Person, register } from '../changes/support';
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
    await approve(app, first.id, ada);
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
      expect(output).toContain(`A person who was registered before ${first.createdAt} had to review it.`);
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
    expect(output).toMatch(/\nDIFFERS: .*the key key_\w+, which broke the glass, had not the scope admin\n$/);
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
