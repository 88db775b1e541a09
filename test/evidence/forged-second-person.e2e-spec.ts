import { approve, approvedChange, changeHeader, newPolicy, startChanges } from '../changes/support';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { runVerifier } from '../support/processes/run-verifier';
import { canonicalHash } from '../verification/recompute-chain';
import { entriesOf, exportOf, sealEntries } from './forged-log';
import { keyAndLog } from './verified-file';

type Change = (entries: Parsed[]) => Parsed[];

const REASON = 'Everybody is away';
const ALONE = '1 changes of the rules were made by one person or key, after others had needed a second person';
const ONE_REVIEW = 'The review of 2 emergencies took one person';

/** The same entry about another record. */
function copyOf(entry: Parsed, id: string): Parsed {
  const copy = structuredClone(entry);
  Object.assign(copy, { id: `${entry.id.slice(0, -1)}Z`, auditId: `${entry.auditId.slice(0, -1)}Z`, subjectId: id });
  Object.assign(copy.audit, { id: copy.auditId, subjectId: id });
  copy.state.id = id;
  return copy;
}

/** Has changes name places of their own that begin after a place, moved by some entries. */
function moveRanges(entries: readonly Parsed[], place: number, by: number): void {
  for (const { audit } of entries)
    for (const name of ['firstSequence', 'lastSequence'])
      if (audit.details[name] > place) audit.details[name] = Number(audit.details[name]) + by;
}

/** Adds an entry before another one, and has changes name the places of their own that follow. */
function insertBefore(entries: Parsed[], next: Parsed, entry: Parsed): Parsed[] {
  const place = entries.indexOf(next);
  moveRanges(entries, place, 1);
  return entries.toSpliced(place, 0, { ...entry, timestamp: next['timestamp'] });
}

describe('The verifier, on changes for which an operator made up the second person', () => {
  const stage = stageOf(async () => {
    const { app, ada, ben, cyd } = await startChanges();
    const { body: webhook } = await send(app, 'POST', '/api/v1/webhooks', {
      body: { url: 'https://hooks.example.com/a', actions: ['*'] },
      headers: { 'Break-Glass': encodeURIComponent(REASON) },
    });
    await send(app, 'POST', '/api/v1/policies', {
      body: newPolicy(),
      headers: { 'Break-Glass': encodeURIComponent(REASON) },
    });
    const { data } = (await send(app, 'GET', '/api/v1/decisions?type=change_review&order=desc')).body;
    for (const person of [ada, ben]) await approve(app, data[0].id, person);
    const path = `/api/v1/agents/${ada.id}/delegations`;
    const until = new Date(Date.now() + 86_400_000).toISOString();
    const { body: delegation } = await send(app, 'POST', path, { key: ada.key, body: { to: 'ben', until } });
    const request = ['PATCH', '/api/v1/agents/robot', { key: cyd.key, body: { roles: ['singer'] } }] as const;
    const robot = ['POST', '/api/v1/agents', { key: cyd.key, body: { name: 'robot' } }] as const;
    const robotId = await approvedChange(app, robot, [ada]);
    await send(app, 'POST', robot[1], { ...robot[2], ...changeHeader(robotId) });
    const proposed = await send(app, ...request);
    const { id } = proposed.body;
    const body = { delegationId: delegation['id'] };
    const approval = await send(app, 'POST', `/api/v1/decisions/${id}/approve`, { key: ben.key, body });
    expect([approval.status, approval.body.status]).toEqual([200, 'approved']);
    const made = await send(app, request[0], request[1], { ...request[2], ...changeHeader(id) });
    expect(made.status).toBe(200);
    const { log } = await keyAndLog(app);
    return { app, ada, cyd, id: id as string, webhook, log };
  });

  async function verdictOn(change: Change): Promise<string> {
    const entries = change(entriesOf(stage.log));
    sealEntries(entries);
    return (await runVerifier(['-'], exportOf(entries))).output;
  }

  /** The last emergency made something else. */
  const emergency =
    (made: (entry: Parsed) => void, request: object): Change =>
    (entries) => {
      const decision = entries.findLast(
        ({ audit }) => audit.details.breakGlass === true && audit.details.firstSequence,
      );
      const entry = entries[entries.indexOf(decision) - 1] ?? {};
      made(entry);
      const isOfPolicies = entry['subjectType'] === 'policy';
      const title = `Review of an emergency: ${(request as { summary: string }).summary}`;
      for (const { subjectId, state } of entries) {
        if (subjectId !== decision.subjectId) continue;
        const { madeAt, rules } = state.change;
        Object.assign(state, {
          title,
          change: { ...request, bodyHash: canonicalHash({}), madeAt, ...(isOfPolicies && { rules }) },
        });
      }
      return entries;
    };

  it('finds nothing in an honest log', async () => {
    const output = await verdictOn((entries) => entries);
    expect(output).toMatch(/(?:^|\n)VALID\n$/);
    for (const note of [ALONE, ONE_REVIEW.slice(0, 14)]) expect(output).not.toContain(note);
  });

  it.each<[what: string, fault: RegExp, change: () => Change]>([
    [
      'a person who changed their own roles beside their mail address',
      /acts as the caller who proposed the change of it/,
      () => (entries) => {
        const { cyd, id } = stage;
        const summary = 'Change roles, email of the agent "cyd".';
        const path = `/api/v1/agents/${cyd.id}`;
        for (const { subjectId, state } of entries)
          if (subjectId === id) {
            state.title = summary;
            Object.assign(state.change, { summary, path });
          }
        const before = entries.findLast(({ subjectId }) => subjectId === cyd.id)?.['state'];
        const entry = entries.findLast(({ action }) => action === 'agent.updated');
        entry.subjectId = entry.audit.subjectId = entry.audit.agentId = cyd.id;
        entry.audit.details.fields = ['roles', 'email'];
        const { revision } = before;
        entry.state = { ...before, roles: ['singer'], revision: Number(revision) + 1, updatedAt: entry.timestamp };
        return entries;
      },
    ],
    [
      'an emergency that changed a mail address',
      /DELETE \/api\/v1\/agents\/ada\/email waits for a second person even in an emergency/,
      () => {
        const summary = 'Forget the mail address of ada.';
        return emergency(
          (entry) => {
            const { id, name } = stage.ada;
            const { timestamp } = entry;
            Object.assign(entry, { action: 'agent.updated', subjectType: 'agent', subjectId: id });
            const { action, subjectType, subjectId } = entry;
            const details = { breakGlass: true, fields: ['email'] };
            Object.assign(entry.audit, { action, subjectType, subjectId, agentId: id, details });
            const { state } = entriesOf(stage.log).find((one) => one['subjectId'] === id) ?? {};
            entry.state = { ...state, name, revision: 2, updatedAt: timestamp };
          },
          { method: 'DELETE', path: '/api/v1/agents/ada/email', summary },
        );
      },
    ],
    [
      'an emergency that deleted a webhook',
      /DELETE \/api\/v1\/webhooks\/\w+ waits for a second person even in an emergency/,
      () => {
        const id = String(stage.webhook['id']);
        return emergency(
          (entry) => {
            const { breakGlass } = entry['audit'].details;
            Object.assign(entry, { action: 'webhook.deleted', subjectType: 'webhook', subjectId: id, state: null });
            const { action, subjectType, subjectId } = entry;
            Object.assign(entry.audit, { action, subjectType, subjectId, agentId: null, details: { breakGlass } });
            entry.salts.state = null;
          },
          { method: 'DELETE', path: `/api/v1/webhooks/${id}`, summary: `Delete the webhook ${id}.` },
        );
      },
    ],
    [
      'a set of policies that was said to be something else',
      /what was said to be approved is recorded as "Lift the stop/,
      () =>
        emergency(() => undefined, {
          method: 'POST',
          path: '/api/v1/policies/apply',
          summary: 'Lift the stop stp_01M7W000000000000000000001.',
        }),
    ],
    [
      'a passkey whose removal was said to be that of another person',
      /what was said to be approved is recorded as "Remove the passkey/,
      () =>
        emergency(
          (entry) => {
            const subjectId = 'psk_01M7W000000000000000000001';
            Object.assign(entry, { action: 'passkey.removed', subjectType: 'passkey', subjectId, state: null });
            const { action, subjectType } = entry;
            const details = { breakGlass: true };
            Object.assign(entry['audit'], { action, subjectType, subjectId, agentId: stage.ada.id, details });
            entry['salts'].state = null;
          },
          {
            method: 'POST',
            path: '/api/v1/agents/ada/passkeys/psk_01M7W000000000000000000001/remove',
            summary: 'Remove the passkey "Phone" of ben.',
          },
        ),
    ],
    [
      'a change that was made though a policy denied the approval of a person in whose place another one had given it',
      /the change was made while somebody who had approved it was suspended, or a policy denied the approval/,
      () => (entries) => {
        const made = entries.findLast(({ action }) => action === 'agent.updated');
        const policy = entries.find(({ action }) => action === 'policy.created');
        const denial = copyOf(policy, `${policy.subjectId.slice(0, -1)}Z`);
        const { id, timestamp } = { id: denial.subjectId, timestamp: made.timestamp };
        const content = { name: 'not ada', effect: 'deny', subjects: ['agent:ada'], actions: ['decision:*'] };
        Object.assign(denial.state, { ...content, createdAt: timestamp });
        denial.audit.details = { policies: [{ id, name: 'not ada', version: '1' }], policySet: 'a'.repeat(64) };
        denial.audit.reason = null;
        return insertBefore(entries, made, denial);
      },
    ],
  ])('finds %s', async (_what, fault, change) => {
    const output = await verdictOn(change());
    expect(output).toMatch(fault);
    expect(output).toMatch(/\nINVALID: .*\n$/);
  });

  it('notes a change that nobody else approved, after others had needed it', async () => {
    const output = await verdictOn((entries) => {
      const agent = entries.find(({ action, state }) => action === 'agent.created' && state.name === 'cyd');
      const alone = copyOf(agent, `${agent.subjectId.slice(0, -1)}Z`);
      const { timestamp } = entries.at(-1) ?? {};
      Object.assign(alone, { timestamp });
      Object.assign(alone.state, { name: 'mallory', createdAt: timestamp, updatedAt: timestamp });
      alone.audit.agentId = alone.subjectId;
      return [...entries, alone];
    });
    expect(output).toContain(ALONE);
    expect(output).toMatch(/\nVALID\n$/);
  });

  it('notes emergencies that one person reviews, as before this took two', async () => {
    const output = await verdictOn((entries) => {
      const reviews = entries.filter(({ state }) => state?.type === 'change_review');
      for (const { audit, state } of reviews) {
        state.approvers = [{ subjects: ['kind:human'], approvals: 1 }];
        state.requiredApprovals = audit.details.requiredApprovals = 1;
      }
      const first = reviews.find(({ action }) => action === 'decision.reviewed');
      const second = reviews.find(({ action }) => action === 'decision.approved');
      first.action = first.audit.action = 'decision.approved';
      Object.assign(first.state, { status: 'approved', resolvedAt: first.timestamp });
      const place = entries.indexOf(second);
      moveRanges(entries, place, -1);
      return entries.filter((entry) => entry !== second);
    });
    expect(output).toContain(ONE_REVIEW);
    expect(output).toMatch(/\nVALID\n$/);
  });
});
