import { approvedChange, changeHeader, newPolicy, startChanges } from '../changes/support';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { runVerifier } from '../support/processes/run-verifier';
import { reviewerIn } from './file-changes';
import { entryOf, forge } from './forged-file';
import { entriesOf, exportOf, forgeLog, sealEntries } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

const POLICIES = '/api/v1/policies';

/** Names another first entry that a change has made. */
function moveRange({ audit: { details } }: Parsed, by: number): void {
  details.firstSequence = Number(details.firstSequence) + by;
}

describe('A change', () => {
  const stage = stageOf(async () => {
    const started = await startChanges();
    const { app, ada, ben, cyd } = started;
    const request = ['POST', POLICIES, { key: cyd.key, body: newPolicy() }] as const;
    const id = await approvedChange(app, request, [ada]);
    expect((await send(app, 'POST', POLICIES, { ...request[2], ...changeHeader(id) })).status).toBe(201);
    const body = { name: 'robot', scopes: ['read'] };
    const keyId = await approvedChange(app, ['POST', '/api/v1/api-keys', { body }], [ada, ben]);
    expect((await send(app, 'POST', '/api/v1/api-keys', { body, ...changeHeader(keyId) })).status).toBe(201);
    return { ...started, id, keyId };
  });
  const later = (time: string, ms: number): string => new Date(Date.parse(time) + ms).toISOString();
  const decisions = (file: Parsed, change: (state: Parsed) => void): void => {
    for (const { subjectType, state } of file.entries) if (subjectType === 'decision') change(state);
  };
  const made = (file: Parsed): Parsed => entryOf(file, 'policy.created');

  it('made otherwise than it was approved is counted in an export alone', async () => {
    const { log } = await keyAndLog(stage.app);
    const count = 'Of 1 changes the body that was approved does not follow from the entries';
    expect((await runVerifier(['-'], log)).output).not.toContain(count);
    const entries = entriesOf(log);
    const { state, audit } = entries.find(
      (entry) => entry.action === 'api_key.created' && entry.state.name === 'robot',
    );
    state.expiresAt = audit.details.expiresAt = '2099-01-01T00:00:00.000Z';
    sealEntries(entries);
    expect((await runVerifier(['-'], exportOf(entries))).output).toContain(count);
  });

  it.each<[string, (file: Parsed) => void, string]>([
    ['by a reviewer who is no person', (file) => (reviewerIn(file).kind = 'machine'), 'only people decide on changes'],
    [
      'by its proposer',
      (file) => {
        const { agentId } = entryOf(file, 'decision.approved').audit;
        decisions(file, (state) => (state.proposedBy = agentId));
        for (const { action, audit } of file.entries)
          if (['decision.proposed', 'decision.change_made'].includes(action)) audit.agentId = agentId;
      },
      'the change was approved by its proposer',
    ],
    [
      'with the operator’s key',
      (file) => (entryOf(file, 'decision.approved').audit.actor = { type: 'api_key', id: 'env' }),
      'the operator’s key (env) decides on no change',
    ],
    [
      'by a button in Slack',
      (file) => (entryOf(file, 'decision.approved').audit.actor = { type: 'slack', id: 'T1/U1' }),
      'decides on no change',
    ],
  ])('that was approved %s does not recompute', (_label, change, expected) =>
    expectDiffers(stage.id, change, expected),
  );

  it.each<[string, (file: Parsed) => void, string]>([
    [
      'by another caller',
      (file) => (entryOf(file, 'decision.change_made').audit.actor.id = 'key_01M7W000000000000000000001'),
      'the caller who made it',
    ],
    ['by an entry of another caller', (file) => (made(file).audit.actor.id = 'env'), 'the caller is recorded as'],
    [
      'by an entry that does not say who had approved it',
      (file) => delete entryOf(file, 'decision.change_made').audit.details.approvers,
      'does not name those who had approved it',
    ],
    ['by an entry that does not say so', (file) => delete made(file).audit.details.changeId, 'details.changeId'],
    [
      'too late',
      (file) => {
        const entry = entryOf(file, 'decision.change_made');
        entry.timestamp = later(entry.timestamp, 3_600_000);
        entry.state.updatedAt = entry.state.change.madeAt = entry.timestamp;
        made(file).timestamp = made(file).state.createdAt = entry.timestamp;
      },
      'was good for less',
    ],
    [
      'before it was approved',
      (file) => {
        const [approval, making] = ['decision.approved', 'decision.change_made'].map((action) => entryOf(file, action));
        [approval.state, making.state] = [{ ...making.state, status: 'proposed' }, approval.state];
      },
      'the status',
    ],
    [
      'by fewer entries than it names',
      (file) => moveRange(entryOf(file, 'decision.change_made'), -1),
      'of the 2 entries that the change has made',
    ],
    [
      'by more entries than it names',
      (file) => moveRange(entryOf(file, 'decision.change_made'), 1),
      'is not among its entries',
    ],
    [
      'with another policy than was said',
      (file) => {
        made(file).state.name = 'other';
        made(file).audit.details.policies[0].name = 'other';
      },
      'what was said to be approved',
    ],
    [
      'by another route',
      (file) => decisions(file, (state) => (state.change.path = '/api/v1/agents')),
      'makes no policy.created',
    ],
    [
      'on a path that does not exist',
      (file) => decisions(file, (state) => (state.change.path = '/api/v1/rules')),
      'makes no policy.created',
    ],
    [
      'on another set of policies',
      (file) => (made(file).audit.details.policySet = 'a'.repeat(64)),
      'details.policySet',
    ],
    [
      'without a word of the rules',
      (file) => {
        decisions(file, (state) => Reflect.deleteProperty(state.change, 'rules'));
        for (const { audit } of file.entries)
          if (audit.details.rules !== undefined) audit.details.rules = file.rules[0].hash;
      },
      'names no rules',
    ],
  ])('that was made %s does not recompute', (_label, change, expected) => expectDiffers(stage.id, change, expected));

  it('needs one approval more if no person proposed it', () =>
    expectDiffers(
      stage.keyId,
      (file) => {
        const { entries } = file;
        file.entries = entries.filter(({ action }: Parsed) => action !== 'decision.reviewed');
        const [dropped] = entries.filter(({ action }: Parsed) => action === 'decision.reviewed');
        decisions(file, (state) => {
          state.approvers[0].approvals = state.requiredApprovals = 1;
          state.reviews = state.reviews.filter(({ approverId }: Parsed) => approverId !== dropped.audit.agentId);
        });
        for (const { audit } of file.entries) {
          if (audit.details.requiredApprovals !== undefined) audit.details.requiredApprovals = 1;
          if (audit.details.approvals !== undefined) audit.details.approvals = 1;
        }
        file.entries = file.entries.filter(({ subjectId }: Parsed) => subjectId !== dropped.audit.agentId);
      },
      'no person proposed the change, so its first group needs one approval more',
    ));

  it('whose body is another one is not said to follow from the entries', async () => {
    const forged = forge(await decisionFileOf(stage.app, { id: stage.id }), (file: Parsed) => {
      made(file).state.resources = ['everything'];
    });
    const { output } = await verifyFile(forged.text, forged.publicKey);
    expect(output).toMatch(
      /NOTE The body with the hash [0-9a-f]{64}, which was approved, does not follow from the entries/,
    );
    expect(output).not.toContain('Its body follows from the entries');
  });

  it('is made once, with a key of its proposer, and approved with one of its approver, as an export shows', async () => {
    const { app, id, ada } = stage;
    const text = await decisionFileOf(app, { id });
    const { log } = await keyAndLog(app);
    const verifyForged = async (change: (entries: Parsed[]) => Parsed[]): Promise<string> => {
      const forged = forgeLog({ text, log }, change);
      return (await verifyFile(forged.text, forged.publicKey, forged.log)).output;
    };
    expect(await verifyForged((entries) => entries)).toMatch(/\nRECOMPUTED: made as recorded\n$/);
    const twice = await verifyForged((entries) => {
      const last = entries.findLast(({ action }) => action === 'api_key.created') ?? {};
      last['audit'].details.changeId = id;
      return entries;
    });
    expect(twice).toMatch(/FAULT chain: entry \d+: entry \d+ was made by dec_\w+, and no entry of a decision says so/);
    for (const agentId of [ada.id, stage.cyd.id]) {
      const unbound = await verifyForged((entries) => {
        for (const { action, audit, state } of entries)
          if (action === 'api_key.created' && state.agentId === agentId) state.agentId = audit.agentId = null;
        return entries;
      });
      expect(unbound).toContain(`is no key in force that is bound to ${agentId}`);
    }
    const others = await verifyForged((entries) => {
      const policy = entries.find(({ subjectType }) => subjectType === 'policy');
      const first = structuredClone(policy ?? {});
      const earlier = 'pol_01M7W000000000000000000001';
      Object.assign(first, { id: `prv_${earlier.slice(4)}`, subjectId: earlier });
      Object.assign(first['audit'], { subjectId: earlier });
      first['state'].id = earlier;
      const at = entries.findIndex(({ subjectId }) => subjectId === id);
      const { timestamp } = entries[at] ?? {};
      Object.assign(first, { timestamp });
      for (const { audit } of entries)
        for (const name of ['firstSequence', 'lastSequence'])
          if (audit.details[name] !== undefined) audit.details[name] = Number(audit.details[name]) + 1;
      return [...entries.slice(0, at), first, ...entries.slice(at)];
    });
    expect(others).toContain('other policies were in force than the change names: the log has 1');
  });

  async function expectDiffers(id: string, change: (file: Parsed) => void, expected: string): Promise<void> {
    const { text, publicKey } = forge(await decisionFileOf(stage.app, { id }), change);
    const { output } = await verifyFile(text, publicKey);
    expect(output).toMatch(/\n(?:DIFFERS|INVALID): /);
    expect(output).toContain(expected);
  }
});
