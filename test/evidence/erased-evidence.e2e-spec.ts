import { createTestApp } from '../support/application/create-test-app';
import { addClaim, createAgent, createEntity, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { eraseIn } from './erased-log';
import { forgeLog } from './forged-log';
import { decisionFileOf, verifyFile } from './verified-file';

const RECOMPUTED = /\nRECOMPUTED: \w+ as recorded\n$/;

describe('The verifier, on logs in which the holder of the signing key erased what counts', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['look', 'pay', 'sell', 'walk'] });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
    const approval = { approvers: [{ subjects: ['role:finance'], approvals: 1 }] };
    await createPolicy(app, { name: 'looks', effect: 'require_approval', actions: ['look'], approval });
    const limits = [{ max: 10, of: '/amount', per: 'day', by: 'agent' }];
    await createPolicy(app, { name: 'pays', actions: ['pay'], limits });
    await createPolicy(app, { name: 'walks', actions: ['walk'] });
    await createPolicy(app, { name: 'sells', actions: ['sell'] });
    const conditions = [{ claim: 'owner', op: 'supports', parameter: '/owner', value: 0.5 }];
    await createPolicy(app, { name: 'owned', effect: 'deny', actions: ['sell'], conditions });

    const execute = async (action: string, resourceId: string, parameters = {}): Promise<Parsed> => {
      const body = { action, resourceType: 'bill', resourceId, parameters };
      await send(app, 'POST', '/api/v1/agents/bot/execute', { body });
      return (await send(app, 'GET', `/api/v1/executions?action=${action}&limit=1&order=desc`)).body.data[0];
    };
    const rejected = await execute('look', 'a');
    await send(app, 'POST', `/api/v1/decisions/${rejected['decisionId']}/reject`, { body: { approverId: 'ann' } });
    const waiting = await execute('look', 'b');
    const [walked, spent] = [await execute('walk', 'a'), await execute('pay', 'a', { amount: 9 })];
    const paid = await execute('pay', 'a', { amount: 1 });
    const { id: entityId } = await createEntity(app);
    for (const value of ['A', 'B']) await addClaim(app, entityId, { predicate: 'owner', value });
    await send(app, 'PUT', `/api/v1/entities/${entityId}`, { body: { name: 'B', properties: {} } });
    const sold = await execute('sell', entityId, { owner: 'C' });
    const log = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    return { app, rejected, waiting, walked, spent, paid, entityId, sold, log };
  });

  /** Runs the verifier on a file and its log, both changed. */
  async function forged(execution: Parsed, change: (entries: Parsed[]) => Parsed[]): Promise<string> {
    const text = await decisionFileOf(stage.app, execution as { id: string });
    const { log, publicKey, ...file } = forgeLog({ text, log: stage.log }, change);
    return (await verifyFile(file.text, publicKey, log)).output;
  }

  describe('a rejection of the same action', () => {
    /** The log in which the rejected request is the one that waits. */
    function rejectedAlike(entries: Parsed[]): Parsed[] {
      const { rejected, waiting } = stage;
      const { resourceId, actionHash } = entries.find(({ subjectId }) => subjectId === waiting['id']).state;
      for (const { subjectId, state, audit } of entries) {
        if (subjectId === rejected['id']) Object.assign(state, { resourceId, actionHash });
        if (subjectId === rejected['id']) audit.details.resourceId = resourceId;
        if (subjectId === rejected['decisionId']) Object.assign(state, { actionHash });
      }
      return entries;
    }
    const note = 'The export has 1 erased rejections of what the agent requested: whether one of them held';

    it('is found while it is there', async () => {
      expect(await forged(stage.waiting, rejectedAlike)).toMatch(/the rejection of the same action by dec_\w+ held/);
    });

    it.each(['execution', 'decision'])('is not hidden by an erasure of its %s alone', async (type) => {
      const { rejected, waiting } = stage;
      const id = type === 'decision' ? rejected['decisionId'] : rejected['id'];
      const output = await forged(waiting, (entries) => eraseIn(rejectedAlike(entries), [type, id]));
      expect(output).toMatch(/FAULT chain: .* has its contents, and the \w+ \w+ that it belongs to was erased/);
      expect(output).not.toMatch(RECOMPUTED);
    });

    it('is noted if both are erased, and found if the execution names another decision', async () => {
      const { rejected, waiting } = stage;
      const decision = ['decision', rejected['decisionId']] as const;
      const both = await forged(waiting, (entries) => {
        return eraseIn(eraseIn(rejectedAlike(entries), ['execution', rejected['id']]), decision);
      });
      const other = await forged(waiting, (entries) => {
        for (const { subjectId, state, audit } of entries)
          if (subjectId === rejected['id'] && state.decisionId !== null)
            state.decisionId = audit.details.decisionId = waiting['decisionId'];
        return eraseIn(rejectedAlike(entries), decision);
      });
      expect(both).toMatch(RECOMPUTED);
      expect(other).toMatch(/DIFFERS: .*the file has no entry that proposed the decision dec_/);
      for (const output of [both, other]) expect(output).toContain(note);
    });
  });

  it('finds claims of an entity that was erased without them', async () => {
    const { entityId, sold } = stage;
    expect(await forged(sold, (entries) => entries)).toMatch(RECOMPUTED);
    const output = await forged(sold, (entries) => {
      for (const { subjectId, audit } of entries) if (subjectId === sold['id']) audit.details.claims[0].ids = null;
      return eraseIn(entries, ['entity', entityId]);
    });
    expect(output).toMatch(/DIFFERENCE entry \d+: ent_\w+ had 2 such claims, and none was said to be known/);
  });

  it('notes that only the word of its erasure says what an erased execution used of a limit', async () => {
    const { paid, spent, walked } = stage;
    const note = 'The export has 1 erased executions that a limit of the file may count: whether they used what their';
    const use = (entries: Parsed[]): Parsed =>
      entries.find(({ subjectId }) => subjectId === spent['id']).audit.details.used[0];
    const honest = await forged(paid, (entries) =>
      eraseIn(entries, ['execution', spent['id']], undefined, { erasureId: null, used: [use(entries)] }),
    );
    const lessened = await forged(paid, (entries) => {
      for (const { subjectId, audit } of entries) if (subjectId === paid['id']) audit.details.used[0].before = '2';
      const used = [{ ...use(entries), amount: '2' }];
      return eraseIn(entries, ['execution', spent['id']], undefined, { erasureId: null, used });
    });
    const freed = await forged(paid, (entries) => {
      const { policies } = entries.find(({ subjectId }) => subjectId === walked['id']).state;
      for (const { subjectId, audit } of entries) if (subjectId === paid['id']) audit.details.used[0].before = '0';
      const log = eraseIn(entries, ['execution', spent['id']]);
      Object.assign(log.at(-1)?.['state'], { policies });
      return log;
    });
    for (const output of [honest, lessened, freed]) expect(output).toMatch(RECOMPUTED);
    for (const output of [honest, lessened, freed]) expect(output).toContain(note);
    const other = await forged(paid, (entries) => eraseIn(entries, ['execution', walked['id']]));
    expect(other).toContain(note);
    expect(await forged(spent, (entries) => entries)).not.toContain('may count');
  });
});
