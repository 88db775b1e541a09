import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../support/application/factories';
import { erase } from '../support/application/erase';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

const NOT_RECOMPUTED = /\n(?:DIFFERS|INVALID): .*\n$/;
const HIDDEN = /the same action had an unknown outcome as exe_\w+, and the entry does not name it/;

describe('The verifier, on actions that a gateway repeats although their outcome is unknown', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    await createAgent(app, { name: 'bot', capabilities: ['send', 'buy'] });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
    await createPolicy(app, { name: 'send', actions: ['send'] });
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    await createPolicy(app, { name: 'buy', effect: 'require_approval', actions: ['buy'], approval });
    const { secret: key } = await issueKey(app, { name: 'gateway', scopes: ['report'] });
    const execute = async (action: string, resourceId: string, repeated?: Parsed): Promise<Parsed> => {
      const body = { action, resourceType: 'order', resourceId, parameters: {}, via: 'shop' };
      const headers = repeated === undefined ? {} : { 'Governance-Repeat': repeated['id'] };
      return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body, headers })).body;
    };
    const lose = async ({ id }: Parsed): Promise<void> => {
      const body = { outcome: 'failed', reason: 'outcome_unknown' };
      expect((await send(app, 'POST', `/api/v1/executions/${id}/result`, { key, body })).status).toBe(200);
    };
    const decide = (verb: string, { decisionId }: Parsed): Promise<unknown> =>
      send(app, 'POST', `/api/v1/decisions/${decisionId}/${verb}`, { body: { approverId: 'ann' } });
    const sent = await execute('send', 'a');
    await lose(sent);
    const refused = { id: (await execute('send', 'a')).error.executionId };
    const repeated = await execute('send', 'a', sent);
    await lose(repeated);
    const again = await execute('send', 'a', repeated);
    const bought = await execute('buy', 'b');
    await decide('approve', bought);
    await send(app, 'POST', `/api/v1/executions/${bought.id}/resume`);
    await lose(bought);
    const requested = await execute('buy', 'b', bought);
    await decide('reject', requested);
    const rejected = { id: (await execute('buy', 'b', bought)).error.executionId };
    const erased = await execute('send', 'c');
    await lose(erased);
    await erase(app, { type: 'execution', id: erased.id });
    const afterErasure = await execute('send', 'c');
    const made: Record<string, Parsed> = { sent, refused, repeated, again, bought, requested, rejected, afterErasure };
    return { app, made, erased, ...(await keyAndLog(app)) };
  });

  /** Takes what a request repeats from its entry, and the entries of what it repeats from its file. */
  async function forged(name: string, change: (entries: Parsed[]) => void = () => undefined): Promise<string> {
    const { app, made, log: honestLog } = stage;
    const { id } = made[name] as { id: string };
    const text = await decisionFileOf(app, { id });
    const { log, publicKey, ...file } = forgeLog({ text, log: honestLog }, (entries, ids) => {
      const own = entries.filter(({ subjectId, audit }) => subjectId === id && audit.details.repeats !== undefined);
      const repeats = own.map(({ audit }) => audit.details.repeats);
      for (const { id: entryId, subjectId } of entries) if (repeats.includes(subjectId)) ids.delete(entryId);
      for (const { audit } of own) delete audit.details.repeats;
      change(entries);
      return entries;
    });
    return (await verifyFile(file.text, publicKey, log)).output;
  }

  it('recomputes them as they were', async () => {
    const { app, made, publicKey, log } = stage;
    for (const [name, execution] of Object.entries(made)) {
      const { output } = await verifyFile(await decisionFileOf(app, execution as { id: string }), publicKey, log);
      expect({ name, last: output.trimEnd().split('\n').at(-1) }).toMatchObject({
        last: expect.stringMatching(/^RECOMPUTED: /),
      });
    }
  });

  it.each(['repeated', 'again', 'requested'])('finds that the one that was %s does not say so', async (name) => {
    const output = await forged(name);
    expect(output).toMatch(HIDDEN);
    expect(output).toMatch(NOT_RECOMPUTED);
  });

  it('finds it also where the lost execution says that its action had another hash', async () => {
    const output = await forged('repeated', (entries) => {
      for (const { subjectId, state } of entries)
        if (subjectId === stage.made['sent']?.['id']) state.actionHash = 'a'.repeat(64);
    });
    expect(output).toMatch(HIDDEN);
    expect(output).toMatch(NOT_RECOMPUTED);
  });

  it('finds that an older outcome is named than the newest', async () => {
    const { app, made, log: honestLog } = stage;
    const [sent, again] = [made['sent'], made['again']] as { id: string }[];
    const text = await decisionFileOf(app, again as { id: string });
    const { log, publicKey, ...file } = forgeLog({ text, log: honestLog }, (entries, ids) => {
      for (const { id, subjectId, audit } of entries) {
        if (subjectId === sent?.id) ids.add(id);
        if (subjectId === again?.id) audit.details.repeats = sent?.id;
      }
      return entries;
    });
    const { output } = await verifyFile(file.text, publicKey, log);
    expect(output).toMatch(HIDDEN);
    expect(output).toMatch(NOT_RECOMPUTED);
  });

  it('says that what was erased may have been the same action', async () => {
    const { app, made, publicKey, log } = stage;
    const { output } = await verifyFile(
      await decisionFileOf(app, made['afterErasure'] as { id: string }),
      publicKey,
      log,
    );
    expect(output).toMatch(
      /NOTE The export has 1 erased executions of the agent before: whether one was of the same action/,
    );
  });
});
