import { createTestApp } from '../support/application/create-test-app';
import { addClaim, createAgent, createEntity, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { runVerifier } from '../support/processes/run-verifier';
import { eraseIn } from './erased-log';
import { entriesOf, exportOf, sealEntries } from './forged-log';

const NOTE = 'entries rest on contents that are not there: what they decided cannot be checked in full.';

describe('The verifier, on an export of an operator who erased what had counted', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
    await createPolicy(app, { name: 'free', actions: ['send', 'ship', 'sell'] });
    const earlier = [{ earlier: 'send', within: 'P1D', op: 'exists', value: true }];
    await createPolicy(app, { name: 'ships', effect: 'deny', actions: ['ship'], conditions: earlier });
    const claimed = [{ claim: 'owner', op: 'supports', parameter: '/owner', value: 0.5 }];
    await createPolicy(app, { name: 'owned', effect: 'deny', actions: ['sell'], conditions: claimed });
    const limits = [{ max: 2, per: 'day', by: 'agent' }];
    await createPolicy(app, { name: 'calls', actions: ['call'], limits });
    const approval = { approvers: [{ subjects: ['role:finance'] }], grant: { for: 'PT1H', uses: 1 } };
    await createPolicy(app, { name: 'pays', effect: 'require_approval', actions: ['pay'], approval });
    const execute = async (action: string, resourceId: string, parameters = {}): Promise<Parsed> => {
      const body = { action, resourceType: 'bill', resourceId, parameters };
      return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
    };
    const review = (verdict: string, { decisionId }: Parsed, body: object = {}): Promise<unknown> =>
      send(app, 'POST', `/api/v1/decisions/${decisionId}/${verdict}`, { body: { approverId: 'ann', ...body } });
    const shipped = await execute('ship', 'a');
    const { id: entityId } = await createEntity(app);
    await addClaim(app, entityId, { predicate: 'owner', value: 'A', context: { confidence: 1 } });
    const sold = await execute('sell', entityId, { owner: 'B' });
    const sent = await execute('send', 'a');
    const called = [await execute('call', 'a'), await execute('call', 'b')];
    const rejected = await execute('pay', 'rejected');
    await review('reject', rejected);
    const approved = await execute('pay', 'a');
    await review('approve', approved, { grant: { for: 'PT1H', uses: 1 } });
    await send(app, 'POST', `/api/v1/executions/${approved.id}/resume`);
    const granted = await execute('pay', 'a');
    expect(granted.grantId).toMatch(/^grt_/u);
    const { text: log } = await send(app, 'GET', '/api/v1/provenance/export');
    return { app, shipped, sold, sent, called, rejected, approved, granted, entityId, log };
  });

  async function verified(entries: Parsed[]): Promise<string> {
    sealEntries(entries);
    return (await runVerifier(['-'], exportOf(entries))).output;
  }
  const aboutIt = (entries: Parsed[], { id }: Parsed): Parsed[] => entries.filter(({ subjectId }) => subjectId === id);
  /** Adds an execution like another one, as the last entry but those of a grant that is used up. */
  function again(entries: Parsed[], like: Parsed): Parsed[] {
    const [first] = aboutIt(entries, like) as [Parsed];
    const { timestamp } = entries.at(-1);
    const id = first.subjectId.replace(/.$/u, (end: string) => (end === '0' ? '1' : '0'));
    const text = JSON.stringify(first).replaceAll(first.subjectId, id).replaceAll(first.timestamp, timestamp);
    const entry: Parsed = JSON.parse(text);
    Object.assign(entry, { id: `${first.id}A`, auditId: `${first.auditId}A` });
    entry.audit.id = entry.auditId;
    return [...entries, entry];
  }
  /** The policies of another execution, which let it through without a limit or a grant. */
  const freed = (entries: Parsed[]): object => {
    const { policies } = aboutIt(entries, stage.sent).at(-1).state;
    return { policies };
  };

  it('notes nothing in the log as it was', async () => {
    expect(await verified(entriesOf(stage.log))).not.toContain(NOTE);
  });

  const CASES: Record<string, (entries: Parsed[], isErased: boolean) => Parsed[]> = {
    'an earlier execution': (entries, isErased) => {
      const all = again(entries, stage.shipped);
      return isErased ? eraseIn(all, ['execution', stage.sent['id']]) : all;
    },
    'a use of a limit': (entries, isErased) => {
      const [first, second] = stage.called as [Parsed, Parsed];
      const use = (entry: Parsed): Parsed => entry?.audit.details.used[0];
      const others = entries.filter(({ action }) => action !== 'policy.limit_warned');
      use(aboutIt(others, second).at(0)).before = '0';
      const all = again(others, second);
      use(all.at(-1)).before = '1';
      if (!isErased) return all;
      const erased = eraseIn(all, ['execution', first['id']]);
      Object.assign(erased.at(-1).state, freed(entries));
      return erased;
    },
    'the use of a grant': (entries, isErased) => {
      const others = entries.filter(({ action }) => action !== 'grant.used_up');
      const all = again(others, stage.granted);
      if (!isErased) return all;
      const erased = eraseIn(all, ['execution', stage.granted['id']]);
      Object.assign(erased.at(-1).state, freed(entries), { grantId: undefined });
      return JSON.parse(JSON.stringify(erased));
    },
    'a rejection': (entries, isErased) => {
      const { rejected, approved } = stage;
      const { resourceId, actionHash } = aboutIt(entries, approved).at(0).state;
      for (const { subjectId, state, audit } of entries) {
        if (subjectId === rejected['id']) audit.details.resourceId = state.resourceId = resourceId;
        if (subjectId === rejected['id']) state.actionHash = actionHash;
        if (subjectId === rejected['decisionId'])
          Object.assign(state, { actionHash, title: state.title.replace('rejected', resourceId) });
      }
      if (!isErased) return entries;
      const execution = eraseIn(entries, ['execution', rejected['id']]);
      return eraseIn(execution, ['decision', rejected['decisionId']]);
    },
  };

  it.each(Object.entries(CASES))(
    'finds %s that is hidden, and notes what may rest on one that was erased',
    async (_name, forge) => {
      expect(await verified(forge(entriesOf(stage.log), false))).toMatch(/\nINVALID: .*\n$/);
      const output = await verified(forge(entriesOf(stage.log), true));
      expect(output).toMatch(/\nVALID\n$/);
      expect(output).toContain(NOTE);
    },
  );

  it('notes that claims which were erased may not have been looked at', async () => {
    const { sold, entityId, log } = stage;
    const hidden = (): Parsed[] => {
      const entries = entriesOf(log);
      aboutIt(entries, sold).at(0).audit.details.claims[0].ids = [];
      return entries;
    };
    expect(await verified(hidden())).toContain('had 1 such claims, and 0 were looked at');
    const entries = hidden();
    const [created] = aboutIt(entries, { id: entityId }) as [Parsed];
    const removed = structuredClone(created);
    Object.assign(removed, {
      id: `${created.id}D`,
      auditId: `${created.auditId}D`,
      action: 'entity.deleted',
      state: null,
    });
    Object.assign(removed.audit, { id: removed.auditId, action: removed.action, details: { claims: 1 } });
    Object.assign(removed, { timestamp: entries.at(-1).timestamp, sequence: entries.length + 1 });
    removed.salts.state = null;
    const isTaken = ({ subjectType, subjectId }: Parsed): boolean => subjectType === 'claim' || subjectId === entityId;
    const erased = eraseIn([...entries, removed], ['entity', entityId], isTaken);
    const output = await verified(erased);
    expect(output).toContain(NOTE);
  });
});
