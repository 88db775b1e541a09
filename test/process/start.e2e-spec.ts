import { once } from 'node:events';
import { existsSync, linkSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { createTestApp } from '../support/application/create-test-app';
import { createEntity } from '../support/application/factories';
import { send } from '../support/application/send';
import { itOnSqlite } from '../support/database/database-kind';
import { ROOT } from '../support/documents/markdown';
import { type ProgramRun, run } from '../support/processes/shell';
import { startCommand, startProgram, type StartedProgram } from '../support/processes/started-program';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const MAIN = join(ROOT, 'dist', 'main.js');
const ENTITY = { type: 'service', name: 'Payment gateway' };
const KEY = 'the-key-of-these-tests-0123456789';

describe('The built program', () => {
  let database: TemporaryDatabase;
  const programs: StartedProgram[] = [];

  beforeEach(async () => {
    database = await temporaryDatabase();
  });

  afterEach(async () => {
    await Promise.all(programs.splice(0).map((program) => program.stop()));
    await database.remove();
  });

  async function start(environment: Record<string, string> = {}): Promise<StartedProgram> {
    const program = await startProgram(MAIN, { ...database.environment, ...environment });
    programs.push(program);
    return program;
  }

  /** Starts the program under conditions in which it cannot run, and waits for its end. */
  function refuse(environment: Record<string, string>): Promise<ProgramRun> {
    const quiet = { NODE_ENV: '', API_KEY: KEY, PORT: '0', ...database.environment };
    return run(process.execPath, [MAIN], { folder: database.folder, environment: { ...quiet, ...environment } });
  }

  describe('ends with exit code 78', () => {
    it('and reports every fault of the configuration at once, of .env too, a line each, without secrets', async () => {
      writeFileSync(join(database.folder, '.env'), 'RATE_LIMIT=none\n');
      const { exitCode, output, errors } = await refuse({
        PORT: '70000',
        LOG_LEVEL: 'loud',
        API_KEY: 'a secret with spaces',
        DATABASE_URL: 'postgres//app:hunter2@db/governance',
      });
      expect([exitCode, output]).toEqual([78, '']);
      expect(errors.trimEnd().split('\n')).toEqual([
        'The configuration is invalid:',
        expect.stringMatching(/^ {2}PORT: got "70000"; expected a whole number from 0 to 65535.*example: PORT=3000$/),
        expect.stringMatching(/^ {2}API_KEY: got a value that is not shown; expected .*example: API_KEY=/),
        expect.stringMatching(/^ {2}RATE_LIMIT: got "none"; /),
        expect.stringMatching(/^ {2}DATABASE_URL: got .*; expected .*example: DATABASE_URL=/),
        expect.stringMatching(/^ {2}LOG_LEVEL: got "loud"; expected one of fatal, .*example: LOG_LEVEL=info$/),
      ]);
      expect(errors).not.toMatch(/secret with|hunter2/);
    });
  });

  itOnSqlite(
    'ends with exit code 75 and one line while another process uses the database, by whatever path',
    async () => {
      await start();
      expect(await refuse({ DATABASE_URL: 'sqlite:./there/../governance.db' })).toEqual({
        exitCode: 75,
        output: '',
        errors: expect.stringMatching(/^The database \S+ is in use by another process: .*\n$/),
      });
      symlinkSync('governance.db', join(database.folder, 'link.db'));
      linkSync(database.path, join(database.folder, 'second.db'));
      for (const name of ['governance.db', 'link.db', 'second.db']) {
        // This process is another one, too.
        const environment = { DATABASE_URL: `sqlite:${join(database.folder, name)}` };
        await expect(createTestApp({ environment })).rejects.toThrow(
          /^The database \S+ is in use by another process: /,
        );
      }
    },
  );

  describe('ends with exit code 1 and one line', () => {
    it('if the port is taken', async () => {
      const other = createServer().listen(0, '127.0.0.1');
      await once(other, 'listening');
      const port = String((other.address() as AddressInfo).port);
      const refused = await refuse({
        PORT: port,
        HOST: '127.0.0.1',
        DATABASE_URL: 'sqlite:other.db',
        LOG_LEVEL: 'info',
      });
      other.close();
      expect(refused).toEqual({
        exitCode: 1,
        output: expect.not.stringContaining('started'),
        errors: `The service could not start: it cannot listen on 127.0.0.1 port ${port}: another program listens there; set PORT to a free port.\n`,
      });
    });

    itOnSqlite('if the file is not a database', async () => {
      writeFileSync(database.path, 'These are the minutes of a meeting, not a database.\n'.repeat(100));
      const refused = await refuse({});
      expect(refused).toMatchObject({ exitCode: 1, output: '' });
      expect(refused.errors).toMatch(/^The service could not start: .+\n$/);
    });
  });

  describe('prints a banner', () => {
    it('that warns of a short key, and shows the head of the chain', async () => {
      const app = await createTestApp({ environment: database.environment });
      await createEntity(app);
      const { body } = await send(app, 'GET', '/api/v1/provenance');
      await app.close();
      const program = await start({ API_KEY: 'short' });
      expect(program.printed()).toMatch(/^ *WARNING +API_KEY has fewer than 16 characters/m);
      const headPrefix = /^ *Chain +1 entry, head ([0-9a-f]{12})…$/m.exec(program.printed())?.[1];
      expect(body.data[0].hash.slice(0, 12)).toBe(headPrefix);
    });
  });

  describe('logs', () => {
    it('one JSON object a line, one line a request, and never the key', async () => {
      const program = await start({ API_KEY: KEY, API_KEY_PREVIOUS: `${KEY}-former`, LOG_LEVEL: 'trace' });
      const banner = program.printed().length;
      for (const key of [KEY, `${KEY}-former`, `${KEY}-wrong`]) {
        await program.send('GET', `/api/v1/entities?type=${key}`, { key, headers: { 'X-Request-Id': 'r-1' } });
        await program.send('GET', `/api/v1/entities/${key}`, { key });
        await program.send('POST', '/api/v1/entities', { key, body: { type: key, name: key, [key]: key } });
        await program.send('POST', '/api/v1/entities', { key, body: `{"${key}` });
      }
      await program.stop();
      expect(program.printed()).not.toContain(KEY);
      const lines = program.printed().slice(banner).trimEnd().split('\n');
      const requests = lines.map((line) => JSON.parse(line)).filter((line) => 'status' in line);
      expect(requests).toHaveLength(12);
      expect(requests[0]).toEqual({
        level: 'info',
        time: expect.any(String),
        requestId: 'r-1',
        method: 'GET',
        route: '/api/v1/entities',
        path: '/api/v1/entities',
        status: 200,
        durationMs: expect.any(Number),
        ip: '127.0.0.1',
        msg: 'request completed',
      });
    });

    it('nothing with LOG_LEVEL=silent, but still prints the banner, here of an empty chain', async () => {
      const program = await start({ LOG_LEVEL: 'silent' });
      expect(program.printed()).toMatch(/^ *Chain +empty$/m);
      const banner = program.printed().length;
      await program.send('GET', '/api/v1/nothing', { key: 'wrong' });
      await program.stop();
      expect(program.printed().slice(banner)).toBe('');
    });
  });

  itOnSqlite('leaves nothing of its temporary database with NODE_ENV=test', async () => {
    const program = await startCommand(process.execPath, [MAIN], database.folder, { NODE_ENV: 'test' });
    const file = /^ *Database +(\S+)$/m.exec(program.printed())?.[1] ?? '';
    expect(existsSync(file)).toBe(true);
    expect(await program.stop()).toBe(0);
    expect(existsSync(dirname(file))).toBe(false);
  });

  itOnSqlite('reports that it is unhealthy, and refuses writes, once its database file is gone', async () => {
    const app = await createTestApp({ environment: database.environment });
    await createEntity(app);
    for (const suffix of ['', '-wal', '-shm']) rmSync(database.path + suffix, { force: true });
    expect(await send(app, 'GET', '/api/v1/health')).toMatchObject({ status: 503, body: { status: 'unhealthy' } });
    const refused = await send(app, 'POST', '/api/v1/entities', { body: ENTITY });
    expect(refused).toMatchObject({ status: 503, body: { error: { code: 'UNAVAILABLE' } } });
    await app.close();
  });

  it('has the same command and allocator in npm start and in the image, except for the size of the heap', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const command = /^CMD (\[.*\])$/m.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))?.[1] ?? '[]';
    const withoutSizes = (words: readonly string[]): string[] =>
      words.map((word) => word.replace(/-size=\d+$/, '-size'));
    const inTheImage = withoutSizes(JSON.parse(command) as string[]);
    expect(inTheImage).toContain('dist/main.js');
    // Where there is no exec, npm starts the second command.
    const [first = '', second = ''] = scripts['start']?.split(' || ') ?? [];
    expect(withoutSizes(second.split(' '))).toEqual(inTheImage);
    expect(first).toMatch(/^exec env (MALLOC_[A-Z_]+=\d+ )+"RES_OPTIONS=[^"]+" node /);
    expect(first.endsWith(second)).toBe(true);
    expect(inTheImage.at(-1)).toBe('start');
    const allocator = /(?:MALLOC_[A-Z_]+=\d+ ?)+(?= )/.exec(first)?.[0];
    for (const file of ['Dockerfile', 'deploy/governance.service'])
      expect(readFileSync(join(ROOT, file), 'utf8')).toContain(allocator);
  });

  it('starts with npm start, and a signal to npm reaches it', async () => {
    const environment = { ...database.environment, HOME: database.folder };
    const program = await startCommand('npm', ['start'], ROOT, environment);
    await program.send('POST', '/api/v1/entities', { body: ENTITY });
    expect(await program.stop()).toBe(0);
    await expect(program.send('GET', '/api/v1/health')).rejects.toThrow();
  });
});
