import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import { ROOT } from '../support/documents/markdown';
import type { Parsed, Sent } from '../support/application/send';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { type Random, randomFor } from './support/random';
import { ROUNDS as ROUNDS_OF_ALL, roundsTimeLimit } from './support/rounds';

const WITH_ACTIONS = join(ROOT, 'test', 'support', 'processes', 'program-with-actions.mjs');
const ROUNDS = Math.ceil(ROUNDS_OF_ALL / 4);
const WORKERS = 8;
/** Milliseconds before a kill, at most. */
const MAX_LOAD_MS = 250;
const MAX_ROUND_MS = 20_000;

/** Progress of an action that needs an approval, as its client sees it. */
interface ActionProgress {
  id: string | null;
  decisionId: string | null;
  isApproved: boolean;
  isExecuted: boolean;
}

function nothingYet(): ActionProgress {
  return { id: null, decisionId: null, isApproved: false, isExecuted: false };
}

describe('kill -9 between request and result', () => {
  let database: TemporaryDatabase;
  let program: StartedProgram;
  let effects: string;

  beforeAll(async () => {
    database = await temporaryDatabase();
    effects = join(database.folder, 'effects');
    await start();
    await createAgent(program, { name: 'bot', capabilities: ['write'] });
    await createAgent(program, { name: 'ann', kind: 'human', roles: ['finance'] });
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    await createPolicy(program, { effect: 'require_approval', approval });
  });
  afterAll(async () => {
    await program.stop();
    await database.remove();
  });

  async function start(): Promise<void> {
    program = await startProgram(WITH_ACTIONS, {
      ...database.environment,
      RATE_LIMIT: '1000000',
      MAX_PENDING_APPROVALS: '100000',
    });
  }

  /** Sends a POST; null if the process ended before it answered. */
  const post = async (path: string, body?: object): Promise<Parsed> => {
    const sent: Sent = body === undefined ? {} : { body };
    const answer = await program.send('POST', `/api/v1/${path}`, sent).catch(() => null);
    if (answer === null) return null;
    expect([200, 202, 503]).toContain(answer.status);
    return answer.status === 503 ? null : answer.body;
  };

  /** Requests an action, has it approved and resumes it, as far as possible before the kill. */
  async function walk(progress: ActionProgress, random: Random, name: string): Promise<void> {
    await waitForApproval(progress, random, name);
    if (!progress.isApproved) return;
    const resumed = await post(`executions/${progress.id}/resume`);
    progress.isExecuted = resumed?.outcome === 'executed';
  }

  async function waitForApproval(progress: ActionProgress, random: Random, name: string): Promise<void> {
    const parameters = { file: effects, before: random.below(20), after: random.below(20) };
    const action = { action: 'write', resourceType: 'file', resourceId: name, parameters };
    const pending = await post('agents/bot/execute', action);
    if (pending === null) return;
    expect(pending.outcome).toBe('pending_approval');
    Object.assign(progress, { id: pending.id, decisionId: pending.decisionId });
    const approved = await post(`decisions/${pending.decisionId}/approve`, { approverId: 'ann' });
    progress.isApproved = approved !== null;
  }

  /** Counts the lines that each execution has written. */
  function written(): Map<string, number> {
    const counts = new Map<string, number>();
    const lines = existsSync(effects) ? readFileSync(effects, 'utf8').split('\n') : [];
    for (const line of lines.filter((text) => text !== '')) counts.set(line, (counts.get(line) ?? 0) + 1);
    return counts;
  }

  it(
    `never has two effects and never loses an approval, in ${ROUNDS} rounds`,
    async () => {
      const random = randomFor('approvals');
      let resumedLater = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        const unused = nothingYet();
        await waitForApproval(unused, random, `${round}/unused`);
        const all = [unused];
        let isOver = false;
        const work = async (worker: number): Promise<void> => {
          for (let turn = 0; !isOver; turn += 1) {
            const progress = nothingYet();
            all.push(progress);
            await walk(progress, random, `${round}/${worker}/${turn}`);
          }
        };
        const workers = Array.from({ length: WORKERS }, (_, worker) => work(worker));
        await sleep(random.below(MAX_LOAD_MS));
        isOver = true;
        await program.stop('SIGKILL');
        await Promise.all(workers);
        await start();
        for (const { id, decisionId, isApproved, isExecuted } of all) {
          if (id === null) continue;
          const { outcome } = (await program.send('GET', `/api/v1/executions/${id}`)).body;
          const { status } = (await program.send('GET', `/api/v1/decisions/${decisionId}`)).body;
          const lines = written().get(id) ?? 0;
          const isGone = ['executed', 'interrupted'].includes(outcome);
          // Every answer is stored, an approval remains until it is used, and no action was done without one.
          expect({ isApproved, status }).toEqual({ isApproved, status: isApproved ? 'approved' : expect.any(String) });
          expect(isGone || outcome === (status === 'approved' ? 'approved' : 'pending_approval')).toBe(true);
          if (isExecuted) expect({ outcome, lines }).toEqual({ outcome: 'executed', lines: 1 });
          if (!isGone) expect(lines).toBe(0);
          expect(lines).toBeLessThanOrEqual(1);
          const again = await program.send('POST', `/api/v1/executions/${id}/resume`);
          expect(again.status).toBe(outcome === 'approved' ? 200 : 409);
          if (outcome !== 'approved') continue;
          resumedLater += 1;
          expect(written().get(id)).toBe(1);
        }
      }
      expect([...written().values()].every((count) => count === 1)).toBe(true);
      expect(resumedLater).toBeGreaterThanOrEqual(ROUNDS);
      await chainIsValid(program);
    },
    roundsTimeLimit(MAX_ROUND_MS),
  );
});
