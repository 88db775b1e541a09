import { approvedChange, changeHeader, newPolicy, startChanges } from '../changes/support';
import { createAgent, issueKey } from '../support/application/factories';
import type { TestApp } from '../support/application/create-test-app';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

type Subject = 'policy' | 'agent' | 'of the team' | 'emergency' | 'withdrawn';

const API = '/api/v1';
const TOKEN = { type: 'token', id: 'https://id.example#cyd' };
const PROPOSERS = ['decision.proposed', 'decision.change_made', 'decision.cancelled'];

describe('The verifier, on callers who could not make a change', () => {
  const stage = stageOf(async () => {
    const keys: string[] = [];
    const prepare = async (app: TestApp): Promise<void> => {
      await createAgent(app, { name: 'robot' });
      await createAgent(app, { name: 'clerk', team: 'support', roles: ['finance', 'support.tier1'] });
      keys.push((await issueKey(app, { name: 'team', team: 'support', scopes: ['agents', 'policies'] })).secret);
    };
    const { app, ada, ben, cyd } = await startChanges({}, { prepare });
    const make = async (method: string, path: string, body: object, key = cyd.key): Promise<string> => {
      const approvers = key === cyd.key ? [ada] : [ada, ben];
      const id = await approvedChange(app, [method, path, { key, body }], approvers);
      expect((await send(app, method, path, { key, body, ...changeHeader(id) })).status).toBeLessThan(300);
      return id;
    };
    const policy = await make('POST', `${API}/policies`, newPolicy());
    const agent = await make('PATCH', `${API}/agents/robot`, { roles: ['singer'] });
    const ofTeam = await make('PATCH', `${API}/agents/clerk`, { roles: ['finance', 'support.tier2'] }, keys[0]);
    const { body } = await send(app, 'POST', `${API}/policies`, { key: cyd.key, body: newPolicy() });
    const path = `${API}/decisions/${body.id}/cancel`;
    expect((await send(app, 'POST', path, { key: cyd.key, body: { reason: 'No.' } })).status).toBe(200);
    const headers = { 'Break-Glass': encodeURIComponent('Everybody is away') };
    expect((await send(app, 'POST', `${API}/policies`, { headers, body: newPolicy() })).status).toBe(201);
    const { body: open } = await send(app, 'GET', `${API}/decisions?type=change_review`);
    const ids: Record<Subject, string> = {
      ...{ policy, agent, 'of the team': ofTeam, emergency: open.data[0].id, withdrawn: body.id },
    };
    return { ids, app, cyd, ...(await keyAndLog(app)) };
  });

  async function verifyForged(subject: Subject, change: (entries: Parsed[], id: string) => unknown): Promise<string> {
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
    ['of the team', 'made'],
    ['emergency', 'proposed'],
    ['withdrawn', 'cancelled'],
  ])('recomputes that (%s) as it was', async (subject, outcome) => {
    expect(await verifyForged(subject, () => undefined)).toMatch(new RegExp(`\nRECOMPUTED: ${outcome} as recorded\n$`));
  });

  it.each<[Subject, readonly string[], string]>([
    ['policy', ['read', 'agents'], 'policies'],
    ['withdrawn', ['read'], 'policies'],
    ['agent', ['read', 'policies'], 'agents'],
  ])('finds that the key which proposed that (%s) had only %s', async (subject, scopes, missing) => {
    const output = await verifyForged(subject, (entries) => {
      const key = entries.find(({ action, state }) => action === 'api_key.created' && state.agentId === stage.cyd.id);
      Object.assign(key?.['state'], { scopes });
      Object.assign(key?.['audit'].details, { scopes });
    });
    expect(output).toMatch(new RegExp(`which proposed the change, had not the scope ${missing}\n`));
    expect(output).toMatch(/\nDIFFERS: .*\n$/);
  });

  it('finds a change that was made while its caller was suspended', async () => {
    const output = await verifyForged('policy', (entries, id) => {
      const at = entries.findIndex(({ audit }) => audit.details.changeId === id);
      const suspended = structuredClone(entries.find(({ subjectId }) => subjectId === stage.cyd.id) ?? {});
      const { timestamp } = entries[at] ?? {};
      for (const name of ['id', 'auditId']) suspended[name] = `${String(suspended[name]).slice(0, -3)}ZZZ`;
      Object.assign(suspended, { timestamp, action: 'agent.suspended' });
      Object.assign(suspended['audit'], { id: suspended['auditId'], action: 'agent.suspended' });
      Object.assign(suspended['state'], { status: 'suspended', revision: 2, updatedAt: timestamp });
      for (const { audit } of entries)
        for (const name of ['firstSequence', 'lastSequence'])
          if (audit.details[name] > at) audit.details[name] = Number(audit.details[name]) + 1;
      entries.splice(at, 0, suspended);
    });
    expect(output).toMatch(/agt_\w+, who made the change, was suspended\n/);
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
      'changed an agent of no team with the key of a team',
      'of the team',
      (entries) => {
        for (const { subjectType, state } of entries) if (subjectType === 'agent') delete state.team;
      },
      'is of the team support, and agt_',
    ],
    [
      'gave a role of no team with the key of a team',
      'of the team',
      (entries) => entries.findLast(({ action }) => action === 'agent.updated')?.['state'].roles.push('board'),
      'of the team support changed the role board',
    ],
    [
      'took a role of no team with the key of a team',
      'of the team',
      (entries) => entries.findLast(({ action }) => action === 'agent.updated')?.['state'].roles.shift(),
      'of the team support changed the role finance',
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
