import { approve, approvedChange, changeHeader, newPolicy, startChanges } from '../changes/support';
import { createEntity } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { eraseIn } from './erased-log';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

type Change = (entries: Parsed[], ids: ReadonlySet<string>) => Parsed[];

const POLICIES = '/api/v1/policies';
const RANGE = ['firstSequence', 'lastSequence'];

/** Leaves entries out, and has others name the places of their own that follow. */
function without(entries: Parsed[], isMeant: (entry: Parsed) => boolean): Parsed[] {
  const left = entries.filter((entry) => !isMeant(entry));
  for (const { audit } of left)
    for (const name of RANGE) {
      const place = Number(audit.details[name]);
      const before = entries.filter((entry) => isMeant(entry) && entry['sequence'] <= place).length;
      if (audit.details[name] !== undefined) audit.details[name] = place - before;
    }
  return left;
}

describe('The verifier, on what changes and emergencies have made', () => {
  const stage = stageOf(async () => {
    const { app, ada, ben, cyd } = await startChanges();
    const described = await send(app, 'PATCH', '/api/v1/agents/cyd', { body: { description: 'It sings.' } });
    expect(described.status).toBe(200);
    const body = newPolicy();
    const id = await approvedChange(app, ['POST', POLICIES, { key: cyd.key, body }], [ada]);
    const made = await send(app, 'POST', POLICIES, { key: cyd.key, body, ...changeHeader(id) });
    expect(made.status).toBe(201);
    const emergencies: string[] = [];
    const entities: string[] = [];
    for (let count = 1; count <= 4; count += 1) {
      const headers = { 'Break-Glass': encodeURIComponent('Everybody is away') };
      const sent = { headers, body: newPolicy() };
      expect((await send(app, 'POST', POLICIES, sent)).status).toBe(201);
      const path = '/api/v1/decisions?type=change_review&order=desc&limit=1';
      emergencies.push((await send(app, 'GET', path)).body.data[0].id);
      entities.push((await createEntity(app)).id);
      // Nobody can break the glass a fourth time before that.
      if (count === 3) for (const person of [ada, ben]) await approve(app, emergencies[0] ?? '', person);
    }
    return { app, id, emergencies, entities, ...(await keyAndLog(app)) };
  });

  async function forged(change: Change): Promise<string> {
    const text = await decisionFileOf(stage.app, { id: stage.emergencies[3] ?? '' });
    const { log, publicKey, ...file } = forgeLog({ text, log: stage.log }, change);
    return (await verifyFile(file.text, publicKey, log)).output;
  }

  it('recomputes an emergency as it was', async () => {
    expect(await forged((entries) => entries)).toMatch(/\nRECOMPUTED: proposed as recorded\n$/);
  });

  it('takes a description that an earlier version recorded as an emergency, and nobody reviews', async () => {
    const output = await forged((entries) => {
      const described = entries.find(({ action }) => action === 'agent.updated');
      Object.assign(described?.['audit'].details, { breakGlass: true });
      return entries;
    });
    expect(output).toMatch(/\nRECOMPUTED: proposed as recorded\n$/);
  });

  it.each<[what: string, isTaken: (entry: Parsed) => boolean]>([
    ['what an emergency made', ({ action, audit }) => action === 'policy.created' && audit.details.breakGlass === true],
    ['the decision on it', ({ action }) => action === 'decision.proposed'],
    ['the end of a change', ({ action }) => action === 'decision.change_made'],
  ])('finds nothing in a log from which %s was erased', async (_what, isTaken) => {
    const output = await forged((entries, ids) =>
      eraseIn(entries, ['decision', stage.emergencies[0] ?? ''], (entry) => isTaken(entry) && !ids.has(entry['id'])),
    );
    expect(output).not.toMatch(/was made by|leaves out/);
  });

  it.each<[what: string, change: Change, fault: RegExp]>([
    [
      'an emergency while three had no review',
      (entries) =>
        without(
          entries,
          ({ action, subjectId }) => subjectId === stage.emergencies[0] && action !== 'decision.proposed',
        ),
      /dec_\w+ is an emergency, and 3 were open, which nobody had reviewed/,
    ],
    [
      'an emergency that one person has to review, after others that took two',
      (entries) => {
        for (const { subjectId, audit, state } of entries) {
          if (subjectId !== stage.emergencies[3]) continue;
          state.approvers[0].approvals = state.requiredApprovals = audit.details.requiredApprovals = 1;
        }
        return entries;
      },
      /dec_\w+ is an emergency that no person made, and one review of it is enough/,
    ],
    [
      'what an emergency made, and nobody has to review',
      (entries) => without(entries, ({ subjectId }) => subjectId === stage.emergencies[1]),
      /entry \d+ was made by an emergency, and no entry of a decision says so/,
    ],
    [
      'what an emergency made, and nobody has to review, before what was erased',
      (entries) =>
        eraseIn(
          without(entries, ({ subjectId }) => subjectId === stage.emergencies[1]),
          ['entity', stage.entities[1] ?? ''],
        ),
      /entry \d+ was made by an emergency, and no entry of a decision says so/,
    ],
    [
      'what an emergency made, and its decision leaves out',
      (entries) => {
        const proposed = entries.find(({ subjectId }) => subjectId === stage.emergencies[1]);
        Object.assign(proposed?.['audit'].details, { firstSequence: proposed?.['sequence'] });
        return entries;
      },
      /decision\.proposed leaves out entry \d+, which it has made/,
    ],
    [
      'a change that was rejected',
      (entries) => {
        for (const entry of entries) {
          if (entry['subjectId'] !== stage.id || entry['action'] !== 'decision.approved') continue;
          entry['action'] = entry['audit'].action = 'decision.rejected';
          entry['state'].status = 'rejected';
        }
        return entries;
      },
      /decision\.change_made though the status of the decision was not approved before/,
    ],
    [
      'a change that was rejected, and whose decision was erased',
      (entries) => {
        for (const entry of entries) {
          if (entry['subjectId'] !== stage.id || entry['action'] !== 'decision.approved') continue;
          entry['action'] = entry['audit'].action = 'decision.rejected';
        }
        return eraseIn(entries, ['decision', stage.id]);
      },
      /decision\.change_made though the status of the decision was not approved before/,
    ],
    [
      'a change that was made twice',
      (entries) => {
        const again = structuredClone(entries.find(({ action }) => action === 'decision.change_made') ?? {});
        Object.assign(again, { id: `${again['id']}9`, auditId: `${again['auditId']}9` });
        again['timestamp'] = entries.at(-1)?.['timestamp'];
        again['audit'].id = again['auditId'];
        return [...entries, again];
      },
      /decision\.change_made of dec_\w+, which was made before/,
    ],
    [
      'what a change made, and its decision does not say',
      (entries) => without(entries, ({ action }) => action === 'decision.change_made'),
      /entry \d+ was made by dec_\w+, and no entry of a decision says so/,
    ],
  ])('finds %s', async (_what, change, fault) => {
    const output = await forged(change);
    expect(output).toMatch(fault);
    expect(output).toMatch(/\nINVALID: .*\n$/);
  });
});
