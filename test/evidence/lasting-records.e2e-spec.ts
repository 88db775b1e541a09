import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { runVerifier } from '../support/processes/run-verifier';
import { eraseIn } from './erased-log';
import { entriesOf, exportOf, sealEntries } from './forged-log';

const RETAINED = { erasureId: null };

describe('The verifier, on records that were settled, and changed by what settles nothing', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    for (const name of ['ann', 'ben']) await createAgent(app, { name, kind: 'human', roles: ['finance'] });
    const approval = { approvers: [{ subjects: ['role:finance'] }], grant: { for: 'PT1H', wider: true } };
    await createPolicy(app, { name: 'pays', effect: 'require_approval', actions: ['pay'], approval });
    const pay = async (resourceId: string): Promise<Parsed> => {
      const body = { action: 'pay', resourceType: 'bill', resourceId, parameters: { amount: 30 } };
      return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
    };
    const review = (verdict: string, { decisionId }: Parsed, body: object = {}): Promise<unknown> =>
      send(app, 'POST', `/api/v1/decisions/${decisionId}/${verdict}`, { body: { approverId: 'ann', ...body } });
    const rejected = await pay('rejected');
    await review('reject', rejected);
    const approved = await pay('approved');
    await review('approve', approved, { grant: { for: 'PT1H', uses: 2 } });
    await send(app, 'POST', `/api/v1/executions/${approved.id}/resume`);
    const granted = [await pay('approved'), await pay('approved')];
    for (const { grantId } of granted) expect(grantId).toBe(granted[0]?.grantId);
    const { text: log } = await send(app, 'GET', '/api/v1/provenance/export');
    return { app, rejected, approved, granted, log };
  });

  async function verified(entries: Parsed[]): Promise<string> {
    sealEntries(entries);
    return (await runVerifier(['-'], exportOf(entries))).output;
  }
  const aboutIt = (entries: Parsed[], id: string): Parsed[] => entries.filter(({ subjectId }) => subjectId === id);

  /** An entry about the record of another one, which comes before a third one. */
  function entryBefore(entries: Parsed[], next: Parsed, [last, name]: [Parsed, string], more = {}): Parsed[] {
    const entry = structuredClone(last);
    const at = next === undefined ? entries.length : entries.indexOf(next);
    const { timestamp } = entries[at - 1];
    const action = `${last.subjectType}.${name}`;
    Object.assign(entry, { id: `${last.id}N`, auditId: `${last.auditId}N`, action, timestamp, sequence: 0 });
    const actor = { type: 'system', id: 'service' };
    Object.assign(entry.audit, { id: entry.auditId, action, actor, timestamp, reason: null, details: RETAINED });
    Object.assign(entry.state, more);
    return entries.toSpliced(at, 0, entry);
  }

  it('finds nothing in a log in which a module has noted records as they were', async () => {
    const { approved, rejected, granted, log } = stage;
    for (const id of [approved.id, approved.decisionId, rejected.id, rejected.decisionId, granted[0]?.grantId]) {
      const entries = entriesOf(log);
      const last = aboutIt(entries, id).at(-1);
      expect(await verified(entryBefore(entries, undefined, [last, 'noted']))).toMatch(/\nVALID\n$/);
    }
  });

  it('finds a rejected request that an entry of a module opens again', async () => {
    const { rejected, log } = stage;
    for (const id of [rejected.id, rejected.decisionId]) {
      const entries = entriesOf(log);
      const [first] = aboutIt(entries, id) as [Parsed];
      const output = await verified(entryBefore(entries, undefined, [first, 'noted']));
      expect(output).toMatch(/FAULT chain: .*: \w+\.noted leaves the \w+ open, which had ended/);
      expect(output).toMatch(/FAULT decision: .*, which this entry does not change, is recorded as/);
    }
  });

  it.each([
    ['uses', { uses: 9 }],
    ['status', { status: 'active' }],
  ])('finds %s of a grant that an entry of a module changes', async (name, change) => {
    const entries = entriesOf(stage.log);
    const last = aboutIt(entries, stage.granted[0]?.grantId).at(-1);
    const output = await verified(entryBefore(entries, undefined, [last, 'noted'], change));
    expect(output).toContain(`${name}, which this entry does not change, is recorded as`);
  });

  it('finds approvals that an entry of a module, or an erasure, gives a decision', async () => {
    const { approved, rejected, log } = stage;
    for (const [name, left] of [
      ['noted', {}],
      ['erased', { title: '', actionHash: undefined, erased: true }],
    ] as const) {
      const entries = entriesOf(log);
      const last = aboutIt(entries, approved.decisionId).at(-1);
      const [resumed] = entries.filter(({ action }) => action === 'execution.resumed');
      const [{ approverId }] = aboutIt(entries, rejected.decisionId).at(-1).state.reviews;
      const reviews = [{ ...last.state.reviews[0], approverId: approverId.replace(/.$/u, '0'), comment: null }];
      const forged = entryBefore(entries, resumed, [last, name], { reviews, ...left });
      const output = await verified(JSON.parse(JSON.stringify(forged)));
      expect(output).toContain('who reviewed it is recorded as');
      expect(output.includes('which was erased before')).toBe(name === 'erased');
    }
  });

  it('finds an erasure after which an approval or a grant still serves', async () => {
    const { approved, granted, log } = stage;
    const emptied = { title: '', actionHash: undefined, erased: true };
    const ended = { resourceId: '', resources: null, parametersHash: null, onBehalfOf: null };
    for (const [id, left, served] of [
      [approved.decisionId, emptied, approved.id],
      [granted[0]?.grantId, ended, granted[1]?.id],
      [approved.decisionId, emptied, granted[1]?.id],
    ] as const) {
      const entries = entriesOf(log);
      const next = aboutIt(entries, served).at(-1);
      const last = aboutIt(entries, id).findLast(({ sequence }) => sequence < next.sequence);
      const output = await verified(JSON.parse(JSON.stringify(entryBefore(entries, next, [last, 'erased'], left))));
      expect(output).toMatch(/it rests on the \w+ \w+, which was erased before/);
    }
  });

  it('finds an erasure that says otherwise what was done', async () => {
    const { approved, log } = stage;
    const { state } = aboutIt(entriesOf(log), approved.id).at(-1);
    const left = { parameters: {}, resourceId: '', actionHash: undefined, erased: true };
    for (const [change, fault] of [
      [{ policies: [] }, 'policies, which this entry does not change, is recorded as'],
      [{ parameters: { amount: 3 } }, 'what is left of the parameters is recorded as'],
      [{ resourceId: state.resourceId }, 'execution.erased leaves the execution with the resourceId "approved"'],
    ] as const) {
      const entries = entriesOf(log);
      const last = aboutIt(entries, approved.id).at(-1);
      const forged = entryBefore(entries, undefined, [last, 'erased'], { ...left, ...change });
      expect(await verified(JSON.parse(JSON.stringify(forged)))).toContain(fault);
    }
  });

  it.each(['before', 'after'])('finds a third use of a grant for two, one of them erased %s it', async (when) => {
    const { granted, log } = stage;
    const entries = entriesOf(log);
    const [last] = aboutIt(entries, granted[1]?.id) as [Parsed];
    const [usedUp] = entries.filter(({ action }) => action === 'grant.used_up');
    const id = granted[1]?.id.replace(/.$/u, (end: string) => (end === '0' ? '1' : '0'));
    const third = JSON.parse(JSON.stringify(last).replaceAll(last.subjectId, id));
    Object.assign(third, { id: `${third.id}T`, auditId: `${third.auditId}T` });
    third.audit.id = third.auditId;
    const others = entries.filter((entry) => entry !== usedUp);
    const isHonest = await verified(eraseIn(others, ['execution', granted[0]?.id]));
    expect(isHonest).toMatch(/\nVALID\n$/);
    const forged = entriesOf(log).filter(({ action }) => action !== 'grant.used_up');
    const all =
      when === 'after'
        ? eraseIn([...forged, third], ['execution', granted[0]?.id])
        : [...eraseIn(forged, ['execution', granted[0]?.id]), third];
    expect(await verified(all)).toMatch(/FAULT decision: .*: the grant \w+ was used 2 times before, of 2/);
  });

  it.each([true, false])('lets the service revoke a grant only if it erases it: %j', async (isErased) => {
    const { granted, log } = stage;
    const id = granted[0]?.grantId;
    const entries = entriesOf(log).filter(
      ({ action, subjectId }) => action !== 'grant.used_up' && subjectId !== granted[1]?.id,
    );
    const [created] = aboutIt(entries, id);
    const revoked = entryBefore(entries, undefined, [created, 'revoked'], { status: 'revoked' });
    const last = revoked.at(-1);
    last.audit.details = { decisionId: last.state.decisionId };
    const ended = { resourceId: '', resources: null, parametersHash: null, onBehalfOf: null };
    const output = await verified(isErased ? entryBefore(revoked, undefined, [last, 'erased'], ended) : revoked);
    expect(output.includes('the service writes no grant.revoked with the actor')).toBe(!isErased);
    expect(output.endsWith('\nVALID\n')).toBe(isErased);
  });
});
