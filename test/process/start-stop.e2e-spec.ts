import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../src/core/config/variables/variable';
import { createTestApp } from '../support/application/create-test-app';
import { createEntity } from '../support/application/factories';
import { send } from '../support/application/send';
import { ROOT } from '../support/documents/markdown';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const MAIN = join(ROOT, 'dist', 'main.js');
const CLIENTS = 8;
/** Milliseconds: five times what is promised. */
const MAX_STOP_MS = 5 * 10_000;

/** The view of one client: the ids in its answers, which must be stored, and the end of its last request. */
interface ClientReport {
  readonly ids: readonly string[];
  /** A status, or the code of the error in place of an answer. */
  readonly ending: number | string;
}

/** Creates entities one after another on one connection until the service refuses. */
async function createUntilRefused(program: StartedProgram, onKept = (): void => undefined): Promise<ClientReport> {
  const ids: string[] = [];
  try {
    for (;;) {
      const body = { type: 'service', name: `Entity ${ids.length}` };
      const answer = await program.send('POST', '/api/v1/entities', { body });
      if (answer.status !== 201) return { ids, ending: answer.status };
      ids.push(answer.body.id);
      onKept();
    }
  } catch (error) {
    return { ids, ending: connectionFault(error) };
  }
}

/** The code that `fetch` reports for a failed connection. */
function connectionFault(error: unknown): string {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause;
  return cause?.code ?? cause?.message ?? String(error);
}

describe('The built program, asked to stop,', () => {
  let database: TemporaryDatabase;

  beforeEach(async () => {
    database = await temporaryDatabase();
  });

  afterEach(() => database.remove());

  function start(environment: Environment = {}): Promise<StartedProgram> {
    return startProgram(MAIN, { ...database.environment, RATE_LIMIT: '1000000', ...environment });
  }

  it('ends with 0 on SIGINT, and also if a second signal follows', async () => {
    const program = await start({ LOG_LEVEL: 'info' });
    const clients = Array.from({ length: CLIENTS }, () => createUntilRefused(program));
    await sleep(300);
    program.process.kill('SIGINT');
    await sleep(20);
    expect(await program.stop('SIGTERM')).toBe(0);
    await Promise.all(clients);
    const messages = program.printed().match(/The service (?:listens|has stopped)|SIG[A-Z]+: [a-z ]+/g);
    expect(messages).toEqual([
      'The service listens',
      'SIGINT: what has been received is answered',
      'The service has stopped',
    ]);
  });

  it('answers what it has received, refuses the rest, and loses nothing that it acknowledged', async () => {
    const program = await start();
    let acknowledged = 0;
    const clients = Array.from({ length: CLIENTS }, () => createUntilRefused(program, () => (acknowledged += 1)));
    while (acknowledged < 10 * CLIENTS) await sleep(20);
    const began = Date.now();
    expect(await program.stop()).toBe(0);
    expect(Date.now() - began).toBeLessThan(MAX_STOP_MS);

    const reports = await Promise.all(clients);
    const ids = reports.flatMap((report) => report.ids);
    // A client gets the refusal, or finds its kept connection closed or nobody listening: what it then sent was not
    // received, as the counts below show.
    const endings = reports.map(({ ending }) => ending);
    expect(endings.filter((ending) => ![503, 'ECONNREFUSED', 'UND_ERR_SOCKET'].includes(ending))).toEqual([]);

    const restarted = await createTestApp({ environment: database.environment });
    const { body: stats } = await send(restarted, 'GET', '/api/v1/stats');
    expect(stats).toMatchObject({ entities: ids.length, provenanceEntries: ids.length });
    const answers = await Promise.all(ids.slice(-50).map((id) => send(restarted, 'GET', `/api/v1/entities/${id}`)));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    const { body: verification } = await send(restarted, 'POST', '/api/v1/provenance/verify');
    expect(verification).toMatchObject({ valid: true, entriesVerified: ids.length });
    await restarted.close();
  });
});

const MEBIBYTE = 1_048_576;
const LARGE_ROWS = 8;
const EXPORT = '/api/v1/provenance/export';
const MANY_MEMBERS = Object.fromEntries(Array.from({ length: 9_000 }, (_unused, member) => [member.toString(36), 1]));

type Client = (program: StartedProgram) => Promise<unknown>;

/** Long-running requests, and how many clients send each at once. */
const UNDER_WAY: Readonly<Record<string, readonly [clients: number, client: Client]>> = {
  'exports that are read': [3, (program) => program.send('GET', EXPORT)],
  'exports that nobody reads': [2, (program) => held(program, `GET ${EXPORT} HTTP/1.1\r\n\r\n`)],
  'pages of large rows': [6, (program) => program.send('GET', `/api/v1/entities?limit=${LARGE_ROWS}`)],
  verifications: [4, (program) => program.send('POST', '/api/v1/provenance/verify')],
  'verifications from many places': [
    4,
    (program) =>
      program.send('POST', '/api/v1/provenance/verify', { body: { from: 1 + Math.floor(Math.random() * LARGE_ROWS) } }),
  ],
  'verifications of the state': [
    2,
    (program) => program.send('POST', '/api/v1/provenance/verify', { body: { state: true } }),
  ],
  'bodies of many members': [
    4,
    (program) => program.send('POST', '/api/v1/entities', { body: { type: 'x', name: 'x', properties: MANY_MEMBERS } }),
  ],
  'bodies that do not end': [
    4,
    (program) =>
      held(
        program,
        `POST /api/v1/entities HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ${MEBIBYTE}\r\n\r\n{`,
      ),
  ],
  writes: [8, (program) => createUntilRefused(program)],
};

/** Sends a request and reads nothing of the answer until the connection is closed. */
async function held(program: StartedProgram, request: string): Promise<void> {
  const { hostname, port } = new URL(program.url);
  const socket = connect(Number(port), hostname).pause();
  socket.on('error', () => socket.destroy());
  socket.write(request.replace('\r\n', `\r\nHost: x\r\nX-API-Key: ${program.key}\r\n`));
  const closed = new Promise((resolve) => socket.on('close', resolve));
  void once(program.process, 'exit').then(() => socket.destroy());
  await closed;
}

describe('The built program, asked to stop during many long requests,', () => {
  let database: TemporaryDatabase;

  beforeAll(async () => {
    database = await temporaryDatabase();
    const app = await createTestApp({ environment: database.environment });
    const properties = { text: 'x'.repeat(MEBIBYTE - 200) };
    for (let row = 0; row < LARGE_ROWS; row += 1) await createEntity(app, { properties });
    await app.close();
  });
  afterAll(() => database.remove());

  function start(): Promise<StartedProgram> {
    return startProgram(MAIN, { ...database.environment, RATE_LIMIT: '1000000' });
  }

  it.each([40, 400])('ends with 0, after %d milliseconds', async (delay) => {
    const program = await start();
    const clients = Object.values(UNDER_WAY).flatMap(([count, client]) =>
      Array.from({ length: count }, () => client(program).catch(() => null)),
    );
    await sleep(delay);
    const began = Date.now();
    expect(await program.stop()).toBe(0);
    expect(Date.now() - began).toBeLessThan(MAX_STOP_MS);
    await Promise.all(clients);
    expect(program.printed()).not.toContain('"level":"fatal"');
  });
});
