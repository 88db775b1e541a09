import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describeOnSqlite } from '../../support/database/database-kind';
import { ROOT } from '../../support/documents/markdown';
import { run, type ProgramRun } from '../../support/processes/shell';

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

/** Does what no two processes may do at once, and says whether another was doing it. */
const WORK = `
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { ensureAlone } from '${pathToFileURL(join(ROOT, 'scripts', 'ensure-alone.mjs')).href}';
await ensureAlone('lock', () => {
  try {
    writeFileSync('working', '', { flag: 'wx' });
  } catch {
    process.stdout.write('not alone ');
  }
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  rmSync('working', { force: true });
  process.stdout.write('done');
});
`;
/** A module like a machine so busy that a process is held up whenever it is about to remove or move a file. */
const SLOW = `
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
for (const name of ['linkSync', 'renameSync', 'rmdirSync', 'rmSync', 'unlinkSync']) {
  const real = fs[name];
  fs[name] = (...words) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
    return real(...words);
  };
}
syncBuiltinESMExports();
`;
const KILLED = `
import { ensureAlone } from '${pathToFileURL(join(ROOT, 'scripts', 'ensure-alone.mjs')).href}';
await ensureAlone('lock', () => process.kill(process.pid, 'SIGKILL'));
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

  /** Returns the claim of a process with this number while it is at work. */
  function claim(holder: number, at = new Date()): string {
    mkdirSync(join(folder, 'dist.locks'), { recursive: true });
    const file = join(folder, 'dist.locks', `${holder}.claim`);
    writeFileSync(file, '');
    utimesSync(file, at, at);
    return file;
  }

  const ELEVEN_MINUTES_AGO = new Date(Date.now() - 11 * 60_000);
  it.each([
    // No process has this number.
    ['that was killed while it built', 999_999_999, new Date()],
    ['whose number another has by now', process.pid, ELEVEN_MINUTES_AGO],
  ])('does not wait for a process %s', async (_name, holder, at) => {
    claim(holder, at);
    expect(await build()).toEqual(made('first'));
  });

  it('does not wait for a process whose number it has itself', async () => {
    const taking = `
      import { mkdirSync as folder, writeFileSync as write } from 'node:fs';
      folder('dist.locks');
      write('dist.locks/' + process.pid + '.claim', '');
    `;
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
    const held = claim(process.pid);
    expect(await build()).toEqual(made('first'));
    rmSync(join(folder, 'dist'), { recursive: true });
    const program = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], { cwd: folder });
    const [notice] = await once(program.stderr, 'data');
    expect(String(notice)).toBe(`Waiting for the process ${process.pid}, which holds dist.locks\n`);
    rmSync(held);
    expect(await once(program, 'close')).toEqual([0, null]);
  });

  it('is made by one process at a time, even if several notice at once that the one at work was killed', async () => {
    const evaluate = (program: string): Promise<ProgramRun> =>
      run(process.execPath, ['--input-type=module', '--eval', program], { folder });
    expect((await evaluate(KILLED)).exitCode).toBeNull();
    const racing = [SLOW, SLOW, '', ''].map((pace) => evaluate(pace + WORK));
    const outputs = (await Promise.all(racing)).map(({ output }) => output);
    expect(outputs).toEqual(['done', 'done', 'done', 'done']);
  });
});
