import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { Database } from 'sqlite3';
import { codeBlocks, filesBelow, readDocument, ROOT, section } from '../support/documents/markdown';
import { run } from '../support/processes/shell';
import { ProgramEnded, startCommand, startProgram, type StartedProgram } from '../support/processes/started-program';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const PAGE = readDocument('docs/extending.md');
const FILE = /^\/\/ (main\.ts|incidents\.test\.ts)\n/;
const PACKAGE = 'agent-governance-service';
/** Imports of a module from outside its folder. */
const OUTSIDE = /from '(?:\.\.\/)+(?:core|governance|http|ledger)\/[^']+'/g;

interface LockedPackage {
  readonly version: string;
  readonly dev?: boolean;
}

/** Writes the module of the example, and the files of the page, as a project that depends on the package. */
function writeProject(folder: string): void {
  for (const path of filesBelow('examples/incidents')) {
    const target = join(folder, relative('examples', path));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, readDocument(path).replaceAll(OUTSIDE, `from '${PACKAGE}'`));
  }
  for (const { code } of codeBlocks(PAGE)) {
    const name = FILE.exec(code)?.[1];
    if (name !== undefined) writeFileSync(join(folder, name), code.replace(FILE, ''));
  }
  const compilerOptions = {
    ...{ module: 'node20', target: 'ES2023', types: ['node'], outDir: 'out', rootDir: '.', skipLibCheck: false },
    ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, noUnusedLocals: true },
    ...{ experimentalDecorators: true, emitDecoratorMetadata: true, useDefineForClassFields: false },
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts', 'incidents'] }));
}

/** The package as it would be published, and its dependencies in the versions of the lockfile, which npm has cached. */
async function install(folder: string): Promise<void> {
  const packed = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    folder: ROOT,
  });
  const [{ filename, version }] = JSON.parse(packed.output) as [{ filename: string; version: string }];
  const manifest = readFileSync(join(ROOT, 'package.json'), 'utf8');
  const { bin, dependencies, devDependencies, overrides } = JSON.parse(manifest) as {
    bin: object;
    dependencies: object;
    devDependencies: Record<string, string>;
    overrides: object;
  };
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  const tools = /^node_modules\/(?:@types\/|undici-types$|typescript-7$|@typescript\/)/;
  const locked = Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && (dev !== true || tools.test(path)))
    .map(([path, entry]) => [path, { ...entry, dev: false }]);
  const compiling = Object.fromEntries(
    ['@types/express', '@types/node', 'typescript-7'].map((name) => [name, devDependencies[name]]),
  );
  const ownDependencies = { [PACKAGE]: `file:${filename}`, ...compiling };
  const root = { name: 'incidents', version: '1.0.0', dependencies: ownDependencies, overrides };
  const ours = { version, resolved: `file:${filename}`, bin, dependencies, hasInstallScript: true };
  const lockfile = {
    ...root,
    lockfileVersion: 3,
    packages: { '': root, [`node_modules/${PACKAGE}`]: ours, ...Object.fromEntries(locked) },
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(root));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lockfile));
  const flags = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund'];
  const installed = await run('npm', ['install', ...flags], { folder });
  if (installed.exitCode !== 0) throw new Error(installed.errors);
  // The install script of the driver would build this folder again.
  const driver = join('node_modules', 'sqlite3', 'build');
  if (existsSync(join(ROOT, driver))) cpSync(join(ROOT, driver), join(folder, driver), { recursive: true });
  const checked = await run(process.execPath, [join('node_modules', PACKAGE, 'scripts', 'ensure-sqlite3.mjs')], {
    folder,
  });
  if (checked.exitCode !== 0) throw new Error(checked.errors);
}

function changeFile(path: string, sql: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const database = new Database(path);
    database.exec(sql, (error) => {
      database.close(() => (error === null ? resolve() : reject(error)));
    });
  });
}

describe('A project that depends on the package', () => {
  let folder: string;
  let database: TemporaryDatabase;
  let service: StartedProgram;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'governance-consumer-'));
    database = await temporaryDatabase();
    writeProject(folder);
    await install(folder);
  });

  afterAll(async () => {
    await database.remove();
    rmSync(folder, { recursive: true });
  });

  function start(environment: Readonly<Record<string, string>> = {}): Promise<StartedProgram> {
    return startProgram(join(folder, 'out', 'main.js'), { ...database.environment, ...environment });
  }

  it.each([
    ['with', []],
    ['without', ['--exactOptionalPropertyTypes', 'false', '--noEmit']],
  ])('compiles under strict TypeScript %s exact optional members, and so does the package', async (_with, options) => {
    const compiler = join('node_modules', 'typescript-7', 'bin', 'tsc');
    const { output, errors } = await run(process.execPath, [compiler, ...options], { folder });
    expect(errors).toBe('');
    const faults = output.split('\n').filter((line) => !/^node_modules\/(?!agent-governance-service)|^ |^$/.test(line));
    expect(faults).toEqual([]);
  });

  it('tests its module with the helpers of the package', async () => {
    const { exitCode, output } = await run(process.execPath, ['--test', 'out/'], { folder });
    expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
  });

  it('has the faults of its settings reported together with those of the service', async () => {
    const failed = await start({ RATE_LIMIT: 'many', INCIDENT_MOST_AFFECTED: 'few' }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(ProgramEnded);
    const { exitCode, printed } = failed as ProgramEnded;
    expect(exitCode).toBe(78);
    expect(printed).toContain('RATE_LIMIT: got "many"');
    expect(printed).toContain('INCIDENT_MOST_AFFECTED: got "few"');
  });

  it('runs, with its routes, setting, error code, tag and counter', async () => {
    service = await start({ INCIDENT_MOST_AFFECTED: '10' });
    const report = (reference: string, more: object = {}) =>
      service.send('POST', '/api/v1/incidents', { body: { reference, title: 'Late', severity: 'minor', ...more } });
    expect((await report('INC-1', { affected: 11 })).body.error.details).toEqual([
      { field: 'affected', message: 'must be at most 10' },
    ]);
    expect((await report('INC-1', { entityId: 'ent_0' })).status).toBe(400);
    const { body } = await report('INC-1', { affected: 10, labels: ['billing'] });
    expect((await report('INC-1')).body.error.code).toBe('CONFLICT');
    const close = () => service.send('POST', `/api/v1/incidents/${body.id}/close`);
    expect((await close()).status).toBe(200);
    expect((await close()).body.error).toMatchObject({ code: 'INCIDENT_CLOSED' });
    expect((await service.send('GET', '/api/v1/incidents?label=billing&from=2026-01-01')).body.total).toBe(1);
    expect((await service.send('GET', '/api/v1/stats')).body.modules).toEqual({ incidents: 1 });
    const { body: document } = await service.send('GET', '/docs/openapi.json');
    expect(document.tags).toContainEqual({ name: 'Incidents', description: expect.any(String) });
    expect(JSON.stringify(document.paths['/api/v1/incidents/{id}/close'])).toContain('INCIDENT_CLOSED');
  });

  it('has an agent carry out its action, and the code of a failed one recorded', async () => {
    const post = (path: string, body: object) => service.send('POST', `/api/v1/${path}`, { body });
    await post('agents', { name: 'officer', capabilities: ['close-incident'] });
    const rule = { subjects: ['agent:officer'], actions: ['close-incident'], resources: ['incident/*'] };
    await post('policies', { name: 'close', version: '1', effect: 'allow', ...rule });
    const { body: incident } = await post('incidents', { reference: 'INC-2', title: 'Late', severity: 'major' });
    const close = { action: 'close-incident', resourceType: 'incident', resourceId: incident.id };
    expect((await post('agents/officer/execute', close)).body.outcome).toBe('executed');
    const { body: failed } = await post('agents/officer/execute', close);
    expect(failed.outcome).toBe('failed');
    const { body: trail } = await service.send('GET', `/api/v1/audit?subjectId=${failed.id}`);
    expect(trail.data[0]).toMatchObject({ action: 'execution.completed', reason: 'incident_closed' });
  });

  it('has tampering with its records found', async () => {
    const verify = () => service.send('POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect((await verify()).body).toMatchObject({ valid: true });
    const kinds = codeBlocks(section(PAGE, '## 8. Try it')).find(({ code }) => code.includes('"table"'));
    writeFileSync(join(folder, 'kinds.json'), String(kinds?.code));
    const tampering = `UPDATE "incidents" SET "severity" = 'minor' WHERE "reference" = 'INC-2'`;
    await service.stop();
    const verifier = join('node_modules', PACKAGE, 'verifier', 'main.mjs');
    const offline = () => run(process.execPath, [verifier, database.path, '--kinds', 'kinds.json'], { folder });
    expect(await offline()).toMatchObject({ exitCode: 0, output: expect.not.stringContaining('NOTE') });
    await changeFile(database.path, tampering);
    expect(await offline()).toMatchObject({ exitCode: 1, output: expect.stringContaining('incident inc_') });
    service = await start();
    expect((await verify()).body).toMatchObject({ valid: false });
    await service.stop();
  });

  describe('by the program of the package', () => {
    const program = (): string => join(folder, 'node_modules', '.bin', 'agent-governance');
    // Otherwise the programs would look for the temporary database of a test.
    const environment = { NODE_ENV: 'production' };

    it('runs the service in an empty folder, with a heap of its own and until a signal', async () => {
      const empty = mkdtempSync(join(tmpdir(), 'governance-empty-'));
      const started = await startCommand(program(), ['start'], empty, environment);
      expect((await started.send('GET', '/api/v1/health')).status).toBe(200);
      expect(existsSync(join(empty, 'data', 'governance.db'))).toBe(true);
      expect(await started.stop()).toBe(0);
      await expect(started.send('GET', '/api/v1/health')).rejects.toThrow();
      const backup = await run(program(), ['backup', 'copy.db'], { folder: empty, environment });
      expect(backup).toMatchObject({ exitCode: 0, output: expect.stringContaining('\nVALID\n') });
      const verified = await run(program(), ['verify', 'copy.db'], { folder: empty, environment });
      expect(verified).toMatchObject({ exitCode: 0, output: expect.stringContaining('VALID') });
      expect(await run(program(), ['compact'], { folder: empty, environment })).toMatchObject({ exitCode: 0 });
      rmSync(empty, { recursive: true });
    });

    it.each([
      [
        'an unknown command',
        ['frobnicate'],
        2,
        /^There is no command frobnicate\.\n\nUsage: agent-governance <command>/,
      ],
      ['a word after start', ['start', 'now'], 2, /^start takes no words/],
      ['a move without a target', ['move'], 2, /^Usage: agent-governance move --to /],
    ])('explains %s', async (_what, words, exitCode, errors) => {
      expect(await run(program(), words, { folder })).toMatchObject({
        exitCode,
        errors: expect.stringMatching(errors),
      });
    });
  });

  it('does not start with two copies of a dependency that it shares with the service, and names both', async () => {
    const second = join(folder, 'node_modules', PACKAGE, 'node_modules', 'class-validator');
    cpSync(join(folder, 'node_modules', 'class-validator'), second, { recursive: true });
    const failed = await start().catch((error: unknown) => error);
    expect(failed).toMatchObject({ exitCode: 1, printed: expect.stringContaining('two copies of class-validator') });
    expect((failed as ProgramEnded).printed).toContain(second);
  });
});
