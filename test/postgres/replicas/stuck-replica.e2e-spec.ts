import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chainIsValid, createEntity } from '../../support/application/factories';
import { ROOT } from '../../support/documents/markdown';
import type { Answer } from '../../support/application/send';
import { startProgram, type StartedProgram } from '../../support/processes/started-program';
import { COMMIT, openDatabaseGate, type TcpGate } from '../../support/application/tcp-gate';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';
import { untilStatus } from '../support/sessions';

const MAIN = join(ROOT, 'dist', 'main.js');
/** Milliseconds: five times what is promised. */
const STUCK_FOR = 5 * 3_000;

describe('Of two replicas, one of which stops while it holds the head,', () => {
  let database: TemporaryDatabase;
  let gate: TcpGate;
  let stuck: StartedProgram;
  let other: StartedProgram;

  beforeEach(async () => {
    database = await temporaryDatabase();
    const opened = await openDatabaseGate(database.environment.DATABASE_URL);
    gate = opened.gate;
    const environment = { ...database.environment, RATE_LIMIT: '1000000', LOG_LEVEL: 'fatal' };
    other = await startProgram(MAIN, environment);
    stuck = await startProgram(MAIN, { ...environment, DATABASE_URL: opened.url });
  });
  afterEach(async () => {
    await Promise.all([stuck, other].map((program) => program.stop('SIGKILL')));
    await gate.close();
    await database.remove();
  });

  const post = (program: StartedProgram): Promise<Answer> =>
    program.send('POST', '/api/v1/entities', { body: { type: 'service', name: 'gateway' } });

  it.each<[how: string, stop: () => void, goOn: () => void]>([
    ['by SIGSTOP', () => stuck.process.kill('SIGSTOP'), () => stuck.process.kill('SIGCONT')],
    ['as its network is gone', () => gate.hold(), () => gate.open()],
    ['as its COMMIT is held up on the way', () => undefined, () => undefined],
  ])('%s, the other writes, reads and is ready', async (_how, stop, goOn) => {
    const { id } = await createEntity(other);
    const isHeld = gate.holdAt(COMMIT);
    const unanswered = post(stuck).catch(() => null);
    await isHeld;
    stop();
    const began = Date.now();
    const statuses = new Set<number>();
    let longest = 0;
    while (Date.now() - began < STUCK_FOR) {
      const before = Date.now();
      statuses.add((await post(other)).status);
      longest = Math.max(longest, Date.now() - before);
      statuses.add((await other.send('GET', '/api/v1/health/ready')).status + 1_000);
      statuses.add((await other.send('GET', `/api/v1/entities/${id}`)).status + 2_000);
      await sleep(20);
    }
    expect([...statuses].sort()).toEqual([1_200, 201, 2_200]);
    // The writes came from the other replica, not from the one that is back.
    expect(longest).toBeLessThan(STUCK_FOR);
    goOn();
    gate.cut();
    gate.open();
    expect((await unanswered)?.status).toBe(503);
    await untilStatus(() => post(stuck), 201);
    await chainIsValid(other);
  });
});
