import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeOnSqlite } from '../support/database/database-kind';
import { readDocument, ROOT } from '../support/documents/markdown';
import { run } from '../support/processes/shell';

/** The packed files, by the folder or file at the top level. */
const PACKED = ['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'package.json', 'scripts', 'verifier'];

interface VersionedPackage {
  readonly version: string;
}

describeOnSqlite('The package', () => {
  let packed: readonly string[];

  beforeAll(async () => {
    // npm test has built the files beforehand.
    const { output } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { folder: ROOT });
    const [{ files }] = JSON.parse(output) as [{ files: { path: string }[] }];
    packed = files.map(({ path }) => path);
  });

  it('contains what is needed at run time, and nothing else', () => {
    expect([...new Set(packed.map((path) => path.split('/')[0]))].sort()).toEqual(PACKED);
    expect(packed.filter((path) => /[.-]spec\.|\.map$|(?<!\.d)\.ts$/.test(path))).toEqual([]);
  });

  it('contains what its manifest names: entry points with their types, and the files of its scripts', () => {
    const { exports, scripts, bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      exports: Record<string, string | Record<string, string>>;
      scripts: Record<string, string>;
      bin: Record<string, string>;
    };
    const entries = Object.values(exports).flatMap((entry) =>
      typeof entry === 'string' ? entry : Object.values(entry),
    );
    const ran = ['postinstall', 'prebackup', 'backup', 'verify'].map((name) => scripts[name]?.split(' ')[1]);
    expect(packed).toEqual(
      expect.arrayContaining([...entries.map((path) => path.replace('./', '')), ...ran, ...Object.values(bin)]),
    );
    const migrations = packed.filter((path) => path.endsWith('.migration.js'));
    expect(migrations).toContain('dist/ledger/schema/first-release.migration.js');
  });

  it('has one version, as its API document and its clients have', () => {
    const packages = ['.', ...['typescript', 'frameworks', 'cli'].map((name) => `clients/${name}`)];
    const versions = packages.map(
      (folder) => (JSON.parse(readDocument(`${folder}/package.json`)) as VersionedPackage).version,
    );
    const { info } = JSON.parse(readDocument('openapi.json')) as { readonly info: VersionedPackage };
    const python = /^version = "(.*)"$/m.exec(readDocument('clients/python/pyproject.toml'))?.[1];
    expect(new Set([...versions, info.version, python])).toEqual(new Set([versions[0]]));
  });

  it('contains the scripts that those import', () => {
    const scripts = packed.filter((path) => path.startsWith('scripts/'));
    const imported = scripts.flatMap((path) =>
      [...readFileSync(join(ROOT, path), 'utf8').matchAll(/from '\.\/(\S+)'/g)].map(([, name]) => `scripts/${name}`),
    );
    expect(scripts).toEqual(expect.arrayContaining(imported));
  });

  it('exports exactly the types that docs/public-types.d.ts reports', async () => {
    const { output, errors, exitCode } = await run(process.execPath, ['scripts/write-public-types.mjs', '--print'], {
      folder: ROOT,
    });
    // Errors say what is wrong; the compiler's server may note besides that it was ended.
    expect({ exitCode, errors }).toMatchObject({ exitCode: 0 });
    // npm run public-types brings it up to date.
    expect(output).toBe(readDocument('docs/public-types.d.ts'));
  });
});
