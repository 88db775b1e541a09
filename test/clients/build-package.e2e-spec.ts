import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describeOnSqlite } from '../support/database/database-kind';
import { ROOT } from '../support/documents/markdown';
import { run, type ProgramRun } from '../support/processes/shell';

/** Builds what takes a while to build, and reads what the package then has. */
const PROGRAM = `
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { buildPackage } from '${pathToFileURL(join(ROOT, 'clients', 'build-package.mjs')).href}';
await buildPackage('.', ['src'], (dist) => {
  appendFileSync('builds', 'x');
  mkdirSync(dist);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
  writeFileSync(dist + '/main.js', readFileSync('src/main.js'));
});
process.stdout.write(readFileSync('dist/main.js', 'utf8'));
`;

// Independent of the database, so once is enough.
describeOnSqlite('The build of a package', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'build-package-'));
    mkdirSync(join(folder, 'src'));
    writeFileSync(join(folder, 'src', 'main.js'), 'first');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const build = (program = PROGRAM): Promise<ProgramRun> =>
    run(process.execPath, ['--input-type=module', '--eval', program], { folder });
  const made = (output: string): ProgramRun => ({ exitCode: 0, output, errors: '' });

  it('is made once, however many processes need it, and again when it has changed', async () => {
    expect(await Promise.all([build(), build(), build()])).toEqual([made('first'), made('first'), made('first')]);
    expect(readFileSync(join(folder, 'builds'), 'utf8')).toBe('x');
    const later = new Date(Date.now() + 60_000);
    writeFileSync(join(folder, 'src', 'main.js'), 'second');
    utimesSync(join(folder, 'src', 'main.js'), later, later);
    expect(await build()).toEqual(made('second'));
  });

  const TWO_SECONDS_AGO = new Date(Date.now() - 2_000);
  const ELEVEN_MINUTES_AGO = new Date(Date.now() - 11 * 60_000);
  it.each([
    // No process has this number.
    ['that was killed while it built', '999999999', new Date()],
    ['that was killed before it said who it is', '', TWO_SECONDS_AGO],
    ['whose number another has by now', String(process.pid), ELEVEN_MINUTES_AGO],
  ])('does not wait for a process %s', async (_name, holder, taken) => {
    writeFileSync(join(folder, 'dist.lock'), holder);
    utimesSync(join(folder, 'dist.lock'), taken, taken);
    expect(await build()).toEqual(made('first'));
  });

  it('does not wait for a process whose number it has itself', async () => {
    const taking = "import { writeFileSync as write } from 'node:fs';\nwrite('dist.lock', String(process.pid));\n";
    expect(await build(taking + PROGRAM)).toEqual(made('first'));
  });

  it('removes what a build that was killed has left', async () => {
    for (const name of ['dist', 'dist.old', 'dist.new']) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'main.js'), 'left');
    }
    utimesSync(join(folder, 'dist'), ELEVEN_MINUTES_AGO, ELEVEN_MINUTES_AGO);
    expect(await build()).toEqual(made('first'));
    expect(readdirSync(folder).sort()).toEqual(['builds', 'dist', 'src']);
  });

  it('says after a while whom it waits for; what is up to date waits for nobody', async () => {
    expect(await build()).toEqual(made('first'));
    writeFileSync(join(folder, 'dist.lock'), String(process.pid));
    expect(await build()).toEqual(made('first'));
    rmSync(join(folder, 'dist'), { recursive: true });
    const program = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], { cwd: folder });
    const [said] = await once(program.stderr, 'data');
    expect(String(said)).toBe(`Waiting for the process ${process.pid}, which holds dist.lock\n`);
    rmSync(join(folder, 'dist.lock'));
    expect(await once(program, 'close')).toEqual([0, null]);
  });
});
