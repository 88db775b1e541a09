import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { describeOnSqlite } from '../support/database/database-kind';
import { ROOT } from '../support/documents/markdown';
import { type ProgramRun, run } from '../support/processes/shell';

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };

// Independent of the database, so once is enough.
describeOnSqlite('The scripts of package.json', () => {
  // A shell with `exec` is replaced by the program, so that a signal to npm reaches it; any other continues after `||`.
  const portable = Object.values(scripts).map((script) =>
    script.replace(/^exec (?:env (?:\w+=\w+ |"\w+=[^"]+" )+)?(.+) \|\| \1$/, '$1'),
  );
  const commands = portable.flatMap((script) => script.split(' && '));

  it('work in any shell: programs one after another, without variables, redirections or quotes of a POSIX shell', () => {
    expect(commands.filter((command) => /^exec |[$`;|&<>']|^\w+=/.test(command))).toEqual([]);
  });

  it('run only Node, npm and programs of the dependencies', () => {
    const programs = [...new Set(commands.map((command) => command.split(' ')[0] ?? ''))];
    const isRunnable = (program: string): boolean =>
      program === 'node' || program === 'npm' || existsSync(join(ROOT, 'node_modules', '.bin', program));
    expect(programs.filter((program) => !isRunnable(program))).toEqual([]);
  });

  it('say before they compile the driver that they do, and compile one that does not load', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'governance-driver-'));
    const driver = join(folder, 'node_modules', 'sqlite3');
    const binary = join(driver, 'build', 'Release', 'node_sqlite3.node');
    mkdirSync(join(folder, 'scripts'));
    mkdirSync(dirname(binary), { recursive: true });
    for (const name of ['ensure-sqlite3.mjs', 'run.mjs'])
      copyFileSync(join(ROOT, 'scripts', name), join(folder, 'scripts', name));
    const rebuild = `node -e "require('fs').writeFileSync('build/Release/node_sqlite3.node', 'made')"`;
    writeFileSync(join(driver, 'package.json'), JSON.stringify({ name: 'sqlite3', scripts: { rebuild } }));
    const load = `if (require('fs').readFileSync(${JSON.stringify(binary)}, 'utf8') !== 'made') throw new Error('another glibc');`;
    writeFileSync(join(driver, 'index.js'), load);
    writeFileSync(binary, 'of another system');
    const install = (): Promise<ProgramRun> =>
      run(process.execPath, [join('scripts', 'ensure-sqlite3.mjs')], { folder });
    const { exitCode, errors, output } = await install();
    // Standard output is left to the program that is started next.
    expect(errors).toMatch(
      /^The prebuilt SQLite driver does not load .* compiled from source: .*\nCompiling the SQLite driver.*\n$/,
    );
    expect([exitCode, output]).toEqual([0, '']);
    expect(await install()).toMatchObject({ exitCode: 0, errors: '', output: '' });
    rmSync(folder, { recursive: true });
  });

  it('print the options of the benchmark', async () => {
    const help = await run(process.execPath, [join(ROOT, 'scripts', 'bench.mjs'), '--help']);
    expect(help).toMatchObject({ exitCode: 0, output: expect.stringContaining('--only PARTS') });
  });
});

describeOnSqlite('A folder of the project', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'governance-scripts-'));
    cpSync(join(ROOT, 'scripts'), join(folder, 'scripts'), { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const script = (name: string): Promise<ProgramRun> => run(process.execPath, [join(folder, 'scripts', name)]);

  describe('that needs its dependencies', () => {
    /** A package in place of the driver: npm treats a file like a package from a registry. */
    async function depend(version: string): Promise<void> {
      const origin = mkdtempSync(join(tmpdir(), 'governance-origin-'));
      mkdirSync(join(origin, 'driver'));
      const write = (file: string, content: object): void => writeFileSync(join(origin, file), JSON.stringify(content));
      const packed = `sqlite3-${version}.tgz`;
      write('driver/package.json', { name: 'sqlite3', version, main: 'package.json' });
      write('package.json', { name: 'project', version: '1.0.0', dependencies: { sqlite3: `file:${packed}` } });
      await run('npm', ['pack', './driver'], { folder: origin });
      await run('npm', ['install', '--package-lock-only', '--offline', '--no-audit'], { folder: origin });
      for (const file of [packed, 'package.json', 'package-lock.json']) cpSync(join(origin, file), join(folder, file));
      rmSync(origin, { recursive: true });
    }

    const installed = (): unknown =>
      JSON.parse(readFileSync(join(folder, 'node_modules', 'sqlite3', 'package.json'), 'utf8'));

    it('installs them once, again with another lockfile, and again after an interrupted install', async () => {
      await depend('1.0.0');
      expect(await script('ensure-installed.mjs')).toMatchObject({ exitCode: 0 });
      expect(installed()).toMatchObject({ version: '1.0.0' });
      expect(await script('ensure-installed.mjs')).toEqual({ exitCode: 0, output: '', errors: '' });

      await depend('2.0.0');
      expect(await script('ensure-installed.mjs')).toMatchObject({ exitCode: 0 });
      expect(installed()).toMatchObject({ version: '2.0.0' });

      const main = join(folder, 'node_modules', 'sqlite3', 'package.json');
      for (const file of [main, join(folder, 'node_modules', '.package-lock.json')]) rmSync(file);
      expect(await script('ensure-installed.mjs')).toMatchObject({ exitCode: 0 });
      expect(existsSync(main)).toBe(true);
    });

    it('leaves those of a running service alone when its database is backed up or verified', async () => {
      await depend('1.0.0');
      await script('ensure-installed.mjs');
      await depend('2.0.0');
      const compiled = join(folder, 'dist', 'program', 'backup');
      mkdirSync(compiled, { recursive: true });
      writeFileSync(join(compiled, 'main.js'), '');
      for (const before of [scripts['prebackup'], scripts['preverify']])
        expect(await script(basename(before ?? ''))).toEqual({ exitCode: 0, output: '', errors: '' });
      expect(installed()).toMatchObject({ version: '1.0.0' });
    });
  });

  it('that has a client installs what it needs when it is packed', async () => {
    const name = 'cli';
    const prepack = (client: string): string =>
      JSON.parse(readFileSync(join(ROOT, 'clients', client, 'package.json'), 'utf8')).scripts.prepack;
    for (const other of ['typescript', 'frameworks'])
      expect(prepack(other)).toBe(prepack(name).replace(`/${name} `, `/${other} `));
    const client = join(folder, 'clients', name);
    mkdirSync(join(folder, 'needed'));
    writeFileSync(join(folder, 'needed', 'package.json'), JSON.stringify({ name: 'needed', version: '1.0.0' }));
    mkdirSync(client, { recursive: true });
    const manifest = { name, version: '1.0.0', dependencies: { needed: 'file:../../needed' } };
    const prepacked = { prepack: prepack(name), build: 'node build.mjs' };
    writeFileSync(join(client, 'package.json'), JSON.stringify({ ...manifest, scripts: prepacked }));
    writeFileSync(join(client, 'build.mjs'), "import.meta.resolve('needed/package.json');\n");
    await run('npm', ['install', '--package-lock-only', '--offline', '--no-audit'], { folder: client });
    expect(await run('npm', ['pack', '--silent'], { folder: client })).toMatchObject({ exitCode: 0 });
    expect(existsSync(join(client, 'node_modules', 'needed', 'package.json'))).toBe(true);
    expect(existsSync(join(client, `${name}-1.0.0.tgz`))).toBe(true);
  });

  describe('whose sources do not compile', () => {
    beforeEach(() => {
      for (const file of ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'])
        cpSync(join(ROOT, file), join(folder, file));
      linkPackages();
      for (const served of ['operations/console/assets', 'http/openapi/page'])
        mkdirSync(join(folder, 'src', served), { recursive: true });
    });

    /** Linked one by one: an install in the folder would empty a linked `node_modules`. */
    function linkPackages(): void {
      const [packages, links] = [join(ROOT, 'node_modules'), join(folder, 'node_modules')];
      mkdirSync(links);
      for (const name of readdirSync(packages)) symlinkSync(join(packages, name), join(links, name));
    }

    it('fails every time it is built, keeps the previous build, and writes no API document', async () => {
      writeFileSync(join(folder, 'src', 'main.ts'), 'export const port: number = 3000;\n');
      expect(await script('ensure-built.mjs')).toMatchObject({ exitCode: 0 });
      const built = readFileSync(join(folder, 'dist', 'main.js'), 'utf8');

      writeFileSync(join(folder, 'src', 'main.ts'), "export const port: number = 'three thousand';\n");
      for (const name of ['ensure-built.mjs', 'ensure-built.mjs', 'write-openapi.mjs']) {
        const { exitCode, output } = await script(name);
        expect([name, exitCode]).toEqual([name, 1]);
        expect(output).toContain("error TS2322: Type 'string' is not assignable to type 'number'.");
        expect(output).not.toContain('Wrote');
      }
      expect(readFileSync(join(folder, 'dist', 'main.js'), 'utf8')).toBe(built);
      expect(existsSync(join(folder, 'openapi.json'))).toBe(false);
    });
  });
});
