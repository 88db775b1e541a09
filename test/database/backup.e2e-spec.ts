import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SqliteConnection } from '../../src/ledger/database/sqlite/sqlite-connection';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createEntity } from '../support/application/factories';
import { describeOnSqlite } from '../support/database/database-kind';
import { codeBlocks, readDocument, ROOT, section } from '../support/documents/markdown';
import { send } from '../support/application/send';
import { run, type ProgramRun } from '../support/processes/shell';
import { startCommand, type StartedProgram } from '../support/processes/started-program';

const MAIN = join(ROOT, 'dist', 'main.js');
const BACKUP = join(ROOT, 'dist', 'program', 'backup', 'main.js');
const CLIENTS = 4;
/**
 * Milliseconds from an answer to the next write of a client: many writes come during a backup, but not all that could.
 */
const PAUSE = 40;
/** Characters of one large entity; there are enough of them that the backup takes a while. */
const LARGE = 400_000;
const LARGE_ENTITIES = 10;
const RESTORE = codeBlocks(section(readDocument('docs/operations.md'), '#### To restore')).find(
  ({ language }) => language === 'sh',
)?.code;

/**
 * Clients that create entities until the program is gone. They remember what each 201 contained, and any other answer.
 */
class Writers {
  readonly acknowledged: string[] = [];
  readonly others: number[] = [];
  /** Rejects once a request no longer reaches the program. */
  readonly running: Promise<never>;

  constructor(private readonly program: StartedProgram) {
    this.running = Promise.race(Array.from({ length: CLIENTS }, () => this.write()));
  }

  /** Resolves once this many further writes were acknowledged. */
  async more(count: number): Promise<void> {
    const target = this.acknowledged.length + count;
    while (this.acknowledged.length < target) await sleep(PAUSE);
  }

  private async write(): Promise<never> {
    for (;;) {
      const { status, body } = await create(this.program);
      if (status === 201) this.acknowledged.push(body.id);
      else this.others.push(status);
      await sleep(PAUSE);
    }
  }
}

function create(program: StartedProgram, text = ''): ReturnType<StartedProgram['send']> {
  return program.send('POST', '/api/v1/entities', { body: { type: 'service', name: 'Entity', properties: { text } } });
}

describeOnSqlite('A backup', () => {
  let folder: string;
  let target: string;
  let programs: StartedProgram[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'governance-backup-'));
    mkdirSync(join(folder, 'backups'));
    target = join(folder, 'backups', 'governance.db');
    programs = [];
  });
  afterEach(async () => {
    for (const program of programs) await program.stop('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  /** The service in its own working folder, with the database at the default path. */
  async function start(): Promise<StartedProgram> {
    mkdirSync(join(folder, 'service'));
    const program = await startCommand(process.execPath, [MAIN], join(folder, 'service'), { RATE_LIMIT: '1000000' });
    programs.push(program);
    return program;
  }

  /** The service on the database of a working folder, where no program is needed. */
  function inThisProcess(environment: Record<string, string> = {}, workingFolder = 'service'): Promise<TestApp> {
    const database = databaseIn(workingFolder);
    mkdirSync(dirname(database), { recursive: true });
    return createTestApp({ environment: { DATABASE_URL: `sqlite:${database}`, ...environment } });
  }

  /** A service in this process has written the database, and has stopped. */
  async function fill(count: number, text = ''): Promise<void> {
    const app = await inThisProcess();
    for (let made = 0; made < count; made += 1) await createEntity(app, { properties: { text } });
    await app.close();
  }

  function databaseIn(workingFolder = 'service'): string {
    return join(folder, workingFolder, 'data', 'governance.db');
  }

  function backUp(
    words: readonly string[] = [target],
    environment: NodeJS.ProcessEnv = {},
    workingFolder = 'service',
  ): Promise<ProgramRun> {
    const quiet = { NODE_ENV: '', DATABASE_URL: '' };
    const options = { folder: join(folder, workingFolder), environment: { ...quiet, ...environment } };
    return run(process.execPath, [BACKUP, ...words], options);
  }

  /** Runs the commands of docs/operations.md, with the folder of the backups filled in. */
  async function restore(workingFolder: string): Promise<void> {
    mkdirSync(join(folder, workingFolder), { recursive: true });
    const script = (RESTORE ?? '').replaceAll('/srv/backups', join(folder, 'backups'));
    const options = { input: `set -e\n${script}`, folder: join(folder, workingFolder) };
    expect(await run('sh', [], options)).toEqual({ exitCode: 0, output: '', errors: '' });
  }

  async function alter(statement: string): Promise<void> {
    const foreign = await SqliteConnection.open(databaseIn(), 'write');
    await foreign.run('PRAGMA busy_timeout = 5000');
    await foreign.run(statement);
    await foreign.close();
  }

  it('is made under load, survives the service, and can be restored elsewhere as the documentation says', async () => {
    const program = await start();
    for (let made = 0; made < LARGE_ENTITIES; made += 1) await create(program, 'x'.repeat(LARGE));
    const writers = new Writers(program);
    await writers.more(50);
    const acknowledged = [...writers.acknowledged];
    const environment = { NODE_ENV: '', DATABASE_URL: `sqlite:${databaseIn()}` };
    const { exitCode, output, errors } = await run('npm', ['run', '--silent', 'backup', '--', target], {
      folder: ROOT,
      environment,
    });
    const during = writers.acknowledged.length - acknowledged.length;
    await writers.more(10);
    const cutOff = expect(writers.running).rejects.toThrow('fetch failed');
    await program.stop('SIGKILL');
    await cutOff;

    const printed = /^entries {2}(\d+)\nhead {5}(\d+) ([0-9a-f]{64})\nbackup {3}(.+)\nVALID\n$/.exec(output);
    expect({ exitCode, errors, written: printed?.[4] }).toEqual({ exitCode: 0, errors: '', written: target });
    expect(writers.others).toEqual([]);
    expect(during).toBeGreaterThan(0);
    expect(readdirSync(join(folder, 'backups'))).toEqual(['governance.db']);

    await restore('elsewhere');
    // Of the files next to the database, a new machine needs the key of its secrets.
    await expect(inThisProcess({}, 'elsewhere')).rejects.toThrow('put that key back');
    copyFileSync(`${databaseIn()}.secret-key`, `${databaseIn('elsewhere')}.secret-key`);
    const restored = await inThisProcess({}, 'elsewhere');
    const { body } = await send(restored, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    const [entries, head] = [Number(printed?.[1]), { sequence: Number(printed?.[2]), hash: printed?.[3] }];
    expect(body).toMatchObject({ valid: true, entriesVerified: entries, head, invalidRecords: 0 });
    expect(entries).toBeGreaterThanOrEqual(acknowledged.length + LARGE_ENTITIES);
    for (const id of acknowledged) {
      expect((await send(restored, 'GET', `/api/v1/entities/${id}`)).status).toBe(200);
    }
    await restored.close();
  });

  it('put back in the original place is refused until it is accepted, and that is recorded', async () => {
    const app = await inThisProcess();
    await createEntity(app);
    expect(await backUp()).toMatchObject({ exitCode: 0 });
    const { id: later } = await createEntity(app);
    // Keeps a checkpoint that covers the later entry.
    const checkpoint = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
    await app.close();

    await restore('service');
    const name = `${checkpoint.size}:${checkpoint.rootHash.slice(0, 16)}`;
    await expect(inThisProcess()).rejects.toThrow(`ACCEPT_RESTORED_DATABASE=${name},`);
    const restored = await inThisProcess({ ACCEPT_RESTORED_DATABASE: name });
    expect((await send(restored, 'GET', `/api/v1/entities/${later}`)).status).toBe(404);
    expect((await send(restored, 'GET', '/api/v1/audit?action=ledger.restored')).body.data).toMatchObject([
      { details: { acceptedSize: 1, givenUpSize: checkpoint.size } },
    ]);
    const { body } = await send(restored, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(body).toMatchObject({ valid: true, entriesVerified: 2 });
    // The next start no longer knows what was given up.
    await restored.close();
    await (await inThisProcess()).close();
  });

  it('works while the service does not run, after a stop or a kill, with the database named in .env', async () => {
    await fill(1);
    const app = await inThisProcess();
    await createEntity(app);
    // These are the files that a kill would leave now: the second entry is in the write-ahead log alone.
    await run('cp', ['-a', join(folder, 'service'), join(folder, 'killed')]);
    await app.close();
    writeFileSync(join(folder, 'killed', '.env'), 'DATABASE_URL=sqlite:data/governance.db\nPORT=none\n');
    const { exitCode, output } = await backUp([target], {}, 'killed');
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: expect.stringMatching(/^entries {2}2\n/) });
  });

  it('can be read only by those who can read the database', async () => {
    await fill(1);
    const script = `chmod 600 ${databaseIn()} && umask 000 && ${process.execPath} ${BACKUP} ${target} && stat -c %a ${target}`;
    const options = { input: script, environment: { NODE_ENV: '', DATABASE_URL: `sqlite:${databaseIn()}` } };
    expect((await run('sh', [], options)).output).toMatch(/\n600\n$/);
  });

  it('overwrites nothing, not even the database itself', async () => {
    await fill(1);
    const before = readFileSync(databaseIn());
    expect(await backUp([databaseIn()])).toEqual({
      exitCode: 2,
      output: '',
      errors: expect.stringContaining(`${databaseIn()} exists already`),
    });
    expect(readFileSync(databaseIn()).equals(before)).toBe(true);
  });

  it('is refused where somebody altered entries, the head or records, and leaves nothing', async () => {
    await fill(3);
    await alter(`UPDATE ledger_entries SET reason = 'forged' WHERE sequence = 2`);
    await alter(`UPDATE ledger_head SET sequence = 2`);
    await alter(`UPDATE entities SET name = 'forged' WHERE createdSequence = 1`);
    const { exitCode, output, errors } = await backUp();
    expect({ exitCode, output }).toEqual({ exitCode: 1, output: '' });
    for (const fault of ['FAULT chain: entry 2: detailsHash', 'FAULT head: ', 'FAULT records: entity ent_']) {
      expect(errors).toContain(fault);
    }
    expect(errors).toMatch(/\nINVALID: \d+ faults in the database, so no backup was kept as .+\n$/);
    expect(readdirSync(join(folder, 'backups'))).toEqual([]);
  });

  it('is refused if a page is damaged, and leaves nothing', async () => {
    await fill(20, 'x'.repeat(20_000));
    const bytes = readFileSync(databaseIn());
    bytes.fill(0xff, bytes.length / 2, bytes.length / 2 + 65_536);
    writeFileSync(databaseIn(), bytes);
    expect(await backUp()).toEqual({
      exitCode: 1,
      output: '',
      errors: expect.stringMatching(/^No backup was written: .+ cannot be copied: SQLITE_.+ npm run verify -- .+\n$/),
    });
    expect(readdirSync(join(folder, 'backups'))).toEqual([]);
  });

  it('leaves nothing when a signal ends it', async () => {
    await fill(1);
    // A large table takes a while to copy.
    await alter('CREATE TABLE padding AS SELECT zeroblob(50000000)');
    const script = `${process.execPath} ${BACKUP} ${target} & while kill -0 $! && [ -z "$(ls -A ${folder}/backups)" ]; do sleep 0.02; done; kill $!; wait $!`;
    const options = { input: script, environment: { NODE_ENV: '', DATABASE_URL: `sqlite:${databaseIn()}` } };
    const { exitCode, output } = await run('sh', [], options);
    expect({ exitCode, output }).toEqual({ exitCode: 128 + 15, output: '' });
    expect(readdirSync(join(folder, 'backups'))).toEqual([]);
  });

  it.each<[what: string, words: (folder: string) => string[], environment: NodeJS.ProcessEnv, reported: RegExp]>([
    ['without a file', () => [], {}, /^Usage: npm run backup -- <file>\n/],
    ['with two files', (at) => [`${at}/a`, `${at}/b`], {}, /^Usage: /],
    ['with an option', () => ['--help'], {}, /^Usage: /],
    ['into no folder', (at) => [`${at}/none/a`], {}, /^There is no folder .+\/none\.\n$/],
    [
      'on PostgreSQL',
      (at) => [`${at}/a`],
      { DATABASE_URL: 'postgres://user:hidden@localhost/x' },
      /^DATABASE_URL is a PostgreSQL server: .*pg_dump.*docs\/operations\.md#postgresql.*\.\n$/,
    ],
    [
      'on nothing',
      (at) => [`${at}/a`],
      { DATABASE_URL: 'mysql://x' },
      /^The configuration is invalid:\n {2}DATABASE_URL: /,
    ],
  ])('is not begun %s', async (_what, words, environment, reported) => {
    mkdirSync(join(folder, 'service'));
    const options = words(join(folder, 'backups'));
    expect(await backUp(options, environment)).toEqual({
      exitCode: 2,
      output: '',
      errors: expect.stringMatching(reported),
    });
    expect(readdirSync(join(folder, 'backups'))).toEqual([]);
  });

  it('of a missing database does not create one', async () => {
    mkdirSync(join(folder, 'service'));
    expect(await backUp()).toEqual({
      exitCode: 1,
      output: '',
      errors: `No backup was written: There is no database ${databaseIn()}.\n`,
    });
    expect(existsSync(join(folder, 'service', 'data'))).toBe(false);
  });
});
