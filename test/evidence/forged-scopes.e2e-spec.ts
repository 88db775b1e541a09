import { approvedChange, changeHeader, newPolicy, startChanges } from '../changes/support';
import { createAgent } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

type Subject = 'policy' | 'agent' | 'emergency' | 'withdrawn';

const API = '/api/v1';
const TOKEN = { type: 'token', id: 'https://id.example#cyd' };
const PROPOSERS = ['decision.proposed', 'decision.change_made', 'decision.cancelled'];

describe('The verifier, on callers who could not make a change', () => {
  const stage = stageOf(async () => {
    const prepare = (app: Parameters<typeof createAgent>[0]): Promise<unknown> => createAgent(app, { name: 'robot' });
    const { app, ada, ben, cyd } = await startChanges({}, { prepare });
    const make = async (method: string, path: string, body: object): Promise<string> => {
      const id = await approvedChange(app, [method, path, { key: cyd.key, body }], [ada]);
      expect((await send(app, method, path, { key: cyd.key, body, ...changeHeader(id) })).status).toBeLessThan(300);
      return id;
    };
    const policy = await make('POST', `${API}/policies`, newPolicy());
    const agent = await make('PATCH', `${API}/agents/robot`, { roles: ['singer'] });
    const { body } = await send(app, 'POST', `${API}/policies`, { key: cyd.key, body: newPolicy() });
    const path = `${API}/decisions/${body.id}/cancel`;
    expect((await send(app, 'POST', path, { key: cyd.key, body: { reason: 'No.' } })).status).toBe(200);
    const headers = { 'Break-Glass': encodeURIComponent('Everybody is away') };
    expect((await send(app, 'POST', `${API}/policies`, { headers, body: newPolicy() })).status).toBe(201);
    const { body: open } = await send(app, 'GET', `${API}/decisions?type=change_review`);
    const ids: Record<Subject, string> = { policy, agent, emergency: open.data[0].id, withdrawn: body.id };
    return { ids, app, ben, cyd, ...(await keyAndLog(app)) };
  });

  async function verifyForged(subject: Subject, change: (entries: Parsed[], id: string) => void): Promise<string> {
    const text = await decisionFileOf(stage.app, { id: stage.ids[subject] });
    const forged = forgeLog({ text, log: stage.log }, (entries) => {
      change(entries, stage.ids[subject]);
      return entries;
    });
    return (await verifyFile(forged.text, forged.publicKey, forged.log)).output;
  }

  it.each<[Subject, string]>([
    ['policy', 'made'],
    ['agent', 'made'],
    ['emergency', 'proposed'],
    ['withdrawn', 'cancelled'],
  ])('recomputes that of the %s as it was', async (subject, outcome) => {
    expect(await verifyForged(subject, () => undefined)).toMatch(new RegExp(`\nRECOMPUTED: ${outcome} as recorded\n$`));
  });

  it.each<[Subject, readonly string[], string]>([
    ['policy', ['read', 'agents'], 'policies'],
    ['withdrawn', ['read'], 'policies'],
    ['agent', ['read', 'policies'], 'agents'],
  ])('finds that the key which proposed that of the %s had only %s', async (subject, scopes, missing) => {
    const output = await verifyForged(subject, (entries) => {
      const key = entries.find(({ action, state }) => action === 'api_key.created' && state.agentId === stage.cyd.id);
      Object.assign(key?.['state'], { scopes });
      Object.assign(key?.['audit'].details, { scopes });
    });
    expect(output).toMatch(new RegExp(`which proposed the change, had not the scope ${missing}\n`));
    expect(output).toMatch(/\nDIFFERS: .*\n$/);
  });

  it.each<[what: string, subject: Subject, change: (entries: Parsed[], id: string) => void, expected: string]>([
    [
      'changed a person with a key that was bound to another',
      'agent',
      (entries) => {
        for (const { subjectType, state } of entries)
          if (subjectType === 'agent' && state.name === 'robot') state.kind = 'human';
      },
      'which proposed the change, had not the scope admin',
    ],
    [
      'moved an agent to a team without admin',
      'agent',
      (entries) => {
        const updated = entries.find(({ action }) => action === 'agent.updated');
        updated?.['audit'].details.fields.push('team');
        Object.assign(updated?.['state'], { team: 'support' });
      },
      'which proposed the change, had not the scope admin',
    ],
    [
      'changed the agent as which it acts',
      'agent',
      (entries, id) => {
        const robotId = entries.find(({ action }) => action === 'agent.updated')?.['subjectId'];
        for (const { subjectId, state } of entries) if (subjectId === id) state.proposedBy = robotId;
      },
      'acts as the caller who proposed the change of it',
    ],
    [
      'broke the glass with a token',
      'emergency',
      (entries, id) => {
        for (const { subjectId, audit, state } of entries) {
          if (subjectId === id) state.actor = TOKEN;
          if (subjectId === id || audit.details?.breakGlass === true) audit.actor = TOKEN;
        }
      },
      'the token of https://id.example#cyd has not the scope admin, which the change needs',
    ],
    [
      'proposed a change with a token of no agent',
      'policy',
      (entries, id) => {
        for (const { action, subjectId, audit, state } of entries) {
          if (subjectId === id) Object.assign(state, { actor: TOKEN, proposedBy: null });
          if (PROPOSERS.includes(action) || audit.details?.changeId === id) audit.actor = TOKEN;
        }
      },
      'the token of https://id.example#cyd acts as an agent, and no agent proposed it',
    ],
    [
      'cancelled the change of another with a token',
      'withdrawn',
      (entries) => {
        const cancelled = entries.find(({ action }) => action === 'decision.cancelled');
        Object.assign(cancelled?.['audit'], { actor: TOKEN });
      },
      'the token of https://id.example#cyd cancels no change of another caller',
    ],
  ])('finds who %s', async (_label, subject, change, expected) => {
    const output = await verifyForged(subject, change);
    expect(output).toContain(expected);
    expect(output).toMatch(/\n(?:DIFFERS|INVALID): .*\n$/);
  });
});
