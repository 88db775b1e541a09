import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { reviewer } from '../support/application/signers';
import { stageOf } from '../support/application/stage';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

const RECOMPUTED = /\nRECOMPUTED: authorized as recorded\n$/;
const HOUR = 3_600_000;

describe('The verifier, on times in another form than the service writes', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    const bot = await createAgent(app, { name: 'bot', capabilities: ['pay'] });
    const ann = await reviewer(app, 'ann', ['finance']);
    await reviewer(app, 'eve', []);
    const inAnHour = new Date(Date.now() + HOUR).toISOString();
    const { id: keyId, secret: key } = await issueKey(app, {
      agentId: bot.id,
      scopes: ['execute'],
      expiresAt: inAnHour,
    });
    await createPolicy(app, { name: 'pays', actions: ['pay'], limits: [{ max: 2, per: 'day', by: 'agent' }] });
    const delegated = { key: ann.key, body: { to: 'eve', until: inAnHour } };
    const delegation = (await send(app, 'POST', '/api/v1/agents/ann/delegations', delegated)).body;
    const executions: Parsed[] = [];
    for (const resourceId of ['one', 'two']) {
      const body = { action: 'pay', resourceType: 'bill', resourceId };
      executions.push((await send(app, 'POST', '/api/v1/agents/bot/execute', { key, body })).body);
    }
    return { app, keyId, delegation, executions, ...(await keyAndLog(app)) };
  });

  type Forgery = (entries: Parsed[]) => Parsed[] | undefined;
  async function forged(change: Forgery, isAlone = false): Promise<string> {
    const text = await decisionFileOf(stage.app, stage.executions[1] as { id: string });
    const { log, publicKey, ...file } = forgeLog({ text, log: stage.log }, (entries) => change(entries) ?? entries);
    return (await verifyFile(file.text, publicKey, isAlone ? undefined : log)).output;
  }
  const statesOf = (entries: Parsed[], id: string): Parsed[] =>
    entries.flatMap(({ subjectId, state }) => (subjectId === id ? [state] : []));
  const beyondTheDate = (time: string): string => time.replace('Z', '+23:59');
  const setExpiry =
    (expiresAt: string): Forgery =>
    (entries) => {
      for (const { subjectId, state, audit } of entries)
        if (subjectId === stage.keyId) state.expiresAt = audit.details.expiresAt = expiresAt;
      return undefined;
    };

  it('recomputes it as it was', async () => {
    expect(await forged(() => undefined)).toMatch(RECOMPUTED);
    expect(await forged(() => undefined, true)).toMatch(RECOMPUTED);
  });

  const CASES: Record<string, [member: string, change: Forgery]> = {
    'a use in the window of another day': [
      'timestamp',
      (entries) => {
        const index = entries.findIndex(({ subjectId }) => subjectId === stage.executions[0]?.id);
        const use = structuredClone(entries[index]);
        const id = `exe_${'0'.repeat(26)}`;
        Object.assign(use, { id: 'prv_1', auditId: 'aud_1', subjectId: id, timestamp: beyondTheDate(use.timestamp) });
        Object.assign(use.audit, { id: 'aud_1', subjectId: id });
        Object.assign(use.state, { id, createdAt: use.timestamp });
        use.audit.details.used[0].window = `${new Date(use.timestamp).toISOString().slice(0, 10)}T00:00:00.000Z`;
        return entries.toSpliced(index, 0, use);
      },
    ],
    'a key that expired ten hours ago': [
      'state.expiresAt',
      setExpiry(new Date(Date.now() + HOUR).toISOString().replace('Z', '+11:00')),
    ],
    'a key that expires at no time': ['state.expiresAt', setExpiry('never')],
    'a key that expires after any text': ['state.expiresAt', setExpiry('9999-99-99T99:99:99.999Z')],
    'a delegation that ended before it began': [
      'state.until',
      (entries) => {
        for (const state of statesOf(entries, stage.delegation.id)) state.until = beyondTheDate(state.until);
        return undefined;
      },
    ],
  };

  it.each(Object.keys(CASES))('finds %s', async (name) => {
    const [member, change] = CASES[name] ?? [];
    if (member === undefined || change === undefined) throw new Error(name);
    const output = await forged(change);
    expect(output).toContain(`${member} is not a time such as`);
    expect(output).toMatch(/\nINVALID: .*\n$/);
  });

  it('finds one in a file without an export', async () => {
    const change: Forgery = (entries) => {
      for (const state of statesOf(entries, stage.executions[1]?.id)) state.completedAt = 'never';
      return undefined;
    };
    expect(await forged(change, true)).toMatch(/state\.completedAt is not a time such as[^]*\nINVALID: .*\n$/);
  });
});
