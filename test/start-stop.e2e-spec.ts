import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from './support/markdown';
import { startProgram, type StartedProgram } from './support/started-program';
import { temporaryDatabase, type TemporaryDatabase } from './support/temporary-database';

const MAIN = join(ROOT, 'dist', 'main.js');
const CLIENTS = 32;
const LONGEST_STOP = 10_000;

/** What one client saw: the ids it was told are kept, and how its last request ended. */
interface ClientReport {
  readonly kept: readonly string[];
  /** A status, or the code of the error that came instead of an answer. */
  readonly ending: number | string;
}

/** Creates entities one after another on a kept connection until the service refuses. */
async function createUntilRefused(program: StartedProgram): Promise<ClientReport> {
  const kept: string[] = [];
  try {
    for (;;) {
      const body = { type: 'service', name: `Entity ${kept.length}` };
      const answer = await program.send('POST', '/api/v1/entities', { body });
      if (answer.status !== 201) return { kept, ending: answer.status };
      kept.push(answer.body.id);
    }
  } catch (error) {
    return { kept, ending: connectionFault(error) };
  }
}

/** What `fetch` says of a connection that failed. */
function connectionFault(error: unknown): string {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause;
  return cause?.code ?? cause?.message ?? String(error);
}

describe('The built program, told to stop,', () => {
  let database: TemporaryDatabase;

  beforeEach(async () => {
    database = await temporaryDatabase();
  });

  afterEach(() => database.remove());

  function start(): Promise<StartedProgram> {
    return startProgram(MAIN, { ...database.environment, RATE_LIMIT: '1000000' });
  }

  /** Stops the program; answers its exit code and the milliseconds that took. */
  async function timedStop(program: StartedProgram, signal?: NodeJS.Signals): Promise<[number | null, number]> {
    const begin = Date.now();
    const exitCode = await program.stop(signal);
    return [exitCode, Date.now() - begin];
  }

  it.each(['SIGTERM', 'SIGINT'] as const)('ends with 0 on %s', async (signal) => {
    const [exitCode, milliseconds] = await timedStop(await start(), signal);
    expect(exitCode).toBe(0);
    expect(milliseconds).toBeLessThan(LONGEST_STOP);
  });

  it('ends with 0 on a second signal, too', async () => {
    const program = await start();
    const clients = Array.from({ length: CLIENTS }, () => createUntilRefused(program));
    await sleep(300);
    program.process.kill('SIGINT');
    await sleep(20);
    expect(await program.stop('SIGTERM')).toBe(0);
    await Promise.all(clients);
  });

  it('answers what it has received, refuses the rest, and keeps all it acknowledged', async () => {
    const program = await start();
    const clients = Array.from({ length: CLIENTS }, () => createUntilRefused(program));
    await sleep(1_000);
    const [exitCode, milliseconds] = await timedStop(program);
    expect(exitCode).toBe(0);
    expect(milliseconds).toBeLessThan(LONGEST_STOP);

    const reports = await Promise.all(clients);
    const kept = reports.flatMap((report) => report.kept);
    expect(kept.length).toBeGreaterThan(CLIENTS);
    // A client either hears the refusal or finds nobody listening any more; none is cut off.
    expect(reports.filter(({ ending }) => ending !== 503 && ending !== 'ECONNREFUSED')).toEqual([]);

    const restarted = await start();
    const { body: stats } = await restarted.send('GET', '/api/v1/stats');
    expect(stats).toMatchObject({ entities: kept.length, provenanceEntries: kept.length });
    const found = await Promise.all(kept.slice(-200).map((id) => restarted.send('GET', `/api/v1/entities/${id}`)));
    expect(found.filter(({ status }) => status !== 200)).toEqual([]);
    const { body: verification } = await restarted.send('POST', '/api/v1/provenance/verify');
    expect(verification).toMatchObject({ valid: true, entriesVerified: kept.length });
    await restarted.stop();
  });

  it('ends with 0 during a verification', async () => {
    const program = await start();
    const clients = Array.from({ length: CLIENTS }, () => createUntilRefused(program));
    await sleep(1_500);
    const verification = program.send('POST', '/api/v1/provenance/verify').catch(() => null);
    await sleep(10);
    const [exitCode, milliseconds] = await timedStop(program);
    expect(exitCode).toBe(0);
    expect(milliseconds).toBeLessThan(LONGEST_STOP);
    expect([200, 503]).toContain((await verification)?.status);
    await Promise.all(clients);
  });
});
