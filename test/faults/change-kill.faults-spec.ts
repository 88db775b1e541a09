import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { approve, changeHeader, type ChangeStage, FOUR_EYES, registerThree } from '../changes/support';
import { chainIsValid } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
import { ROOT } from '../support/documents/markdown';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { randomFor } from './support/random';
import { ROUNDS as ROUNDS_OF_ALL, roundsTimeLimit } from './support/rounds';

const ROUNDS = Math.ceil(ROUNDS_OF_ALL / 2);
/** Changes that are under way when the process is killed. */
const CHANGES = 12;
/** Milliseconds before a kill, at most. */
const LONGEST_LOAD = 250;
const MAX_ROUND_MS = 20_000;

/** A change, as its client knows it. */
interface Change {
  readonly name: string;
  decisionId: string | null;
  isApproved: boolean;
  isMade: boolean;
}

describe('kill -9 between the approval of a change and its making', () => {
  let database: TemporaryDatabase;
  let program: StartedProgram;
  let people: Omit<ChangeStage, 'app'>;

  beforeAll(async () => {
    database = await temporaryDatabase();
    await start();
    people = await registerThree(program);
  });
  afterAll(async () => {
    await program.stop();
    await database.remove();
  });

  async function start(): Promise<void> {
    const environment = { ...database.environment, ...FOUR_EYES, RATE_LIMIT: '1000000' };
    program = await startProgram(join(ROOT, 'dist', 'main.js'), environment);
  }

  function create({ name, decisionId }: Change): Promise<Answer> {
    const body = { name, capabilities: [] };
    const header = decisionId === null ? {} : changeHeader(decisionId);
    return send(program, 'POST', '/api/v1/agents', { key: people.cyd.key, body, ...header });
  }

  /** Takes a change as far as the process lives. */
  async function walk(change: Change): Promise<void> {
    await walkToApproval(change);
    if (!change.isApproved) return;
    const made = await create(change).catch(() => null);
    change.isMade = made?.status === 201;
  }

  async function walkToApproval(change: Change): Promise<void> {
    const proposed = await create(change).catch(() => null);
    if (proposed?.status !== 202) return;
    change.decisionId = String(proposed.body.id);
    const approved = await approve(program, change.decisionId, people.ada).catch(() => null);
    change.isApproved = approved?.status === 200;
  }

  /** Expects that what was answered is stored, a change is made once, and an unused approval can still be used. */
  async function expectKept(change: Change): Promise<void> {
    const { name, decisionId, isApproved, isMade } = change;
    const agent = await send(program, 'GET', `/api/v1/agents/${name}`);
    if (decisionId === null) {
      expect([name, agent.status]).toEqual([name, 404]);
      return;
    }
    if (isMade) expect([name, agent.status]).toEqual([name, 200]);
    const { body: decision } = await send(program, 'GET', `/api/v1/decisions/${decisionId}`);
    if (isApproved) expect([name, decision.status]).toEqual([name, 'approved']);
    const wasMade = decision.change.madeAt !== undefined;
    expect([name, agent.status]).toEqual([name, wasMade ? 200 : 404]);
    const again = await create(change);
    const unused = decision.status === 'approved' ? 201 : 202;
    expect([name, decision.status, again.status]).toEqual([name, decision.status, wasMade ? 409 : unused]);
  }

  it(
    `makes none twice and loses no approval, in ${ROUNDS} rounds`,
    async () => {
      const random = randomFor('changes');
      for (let round = 0; round < ROUNDS; round += 1) {
        const changes = Array.from({ length: CHANGES }, (_, index): Change => {
          return { name: `agent-${round}-${index}`, decisionId: null, isApproved: false, isMade: false };
        });
        const [unused, ...others] = changes;
        if (unused !== undefined) await walkToApproval(unused);
        expect(unused?.isApproved).toBe(true);
        const walks = others.map(async (change, index) => {
          await sleep(index * 20);
          await walk(change);
        });
        await sleep(random.below(LONGEST_LOAD));
        await program.stop('SIGKILL');
        await Promise.all(walks);
        await start();
        for (const change of changes) await expectKept(change);
      }
      await chainIsValid(program);
    },
    roundsTimeLimit(MAX_ROUND_MS),
  );
});
