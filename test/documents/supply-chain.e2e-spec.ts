import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeOnSqlite } from '../support/database/database-kind';
import { run } from '../support/processes/shell';

const ROOT = join(__dirname, '..', '..');
const PERMISSIVE = new Set([
  ...[
    'MIT',
    'ISC',
    'Apache-2.0',
    'BSD-2-Clause',
    'BSD-3-Clause',
    '0BSD',
    'BlueOak-1.0.0',
    'Python-2.0',
    'Unlicense',
    'MIT-0',
  ],
  ...['Zlib', 'CC-BY-4.0', 'CC0-1.0'],
]);
/** Licences, according to their files, of packages that name them in the format used before 2014. */
const UNSTATED: Readonly<Record<string, string>> = { busboy: 'MIT', streamsearch: 'MIT' };

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly overrides: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
}

interface LockedPackage {
  /** Its name, if it is installed under another one. */
  readonly name?: string;
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** Such as `MIT`, `(MIT OR WTFPL)` or `Apache-2.0 AND MIT`: one side of an OR is enough. */
function isPermissive(expression: string): boolean {
  const plain = expression.replace(/[()]/g, '');
  if (plain.includes(' OR ')) return plain.split(' OR ').some(isPermissive);
  return plain.split(' AND ').every((licence) => PERMISSIVE.has(licence));
}

// Independent of the database, so once is enough.
describeOnSqlite('What the service is made of', () => {
  const manifest = JSON.parse(read('package.json')) as Manifest;
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, LockedPackage> };
  const locked = Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(([path, entry]) => ({ ...entry, name: entry.name ?? path.split('node_modules/').at(-1) ?? '' }));

  it('is pinned to exact versions', () => {
    const { dependencies, devDependencies, overrides } = manifest;
    const loose = Object.entries({ ...dependencies, ...devDependencies, ...overrides });
    expect(loose.filter(([, version]) => !/^(?:npm:[^@]+@)?\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });

  it('is installed from the lockfile, by hashes', () => {
    expect(locked.length).toBeGreaterThan(500);
    expect(locked.filter(({ integrity = '' }) => !integrity.startsWith('sha512-')).map(({ name }) => name)).toEqual([]);
    const stated = { ...manifest.dependencies, ...manifest.devDependencies };
    const differing = Object.entries(stated).filter(
      ([name, version]) => packages[`node_modules/${name}`]?.version !== version.split('@').at(-1),
    );
    expect(differing).toEqual([]);
  });

  it('runs one install script, and lists every package that has one', () => {
    const scripted = new Set(locked.filter(({ hasInstallScript }) => hasInstallScript).map(({ name }) => name));
    const allowed = Object.keys(manifest.allowScripts).filter((name) => manifest.allowScripts[name]);
    expect([...scripted].filter((name) => !(name in manifest.allowScripts))).toEqual([]);
    expect(allowed).toEqual(['sqlite3']);
  });

  it('has permissive licences', () => {
    const others = locked.filter(({ name, license }) => !isPermissive(license ?? UNSTATED[name] ?? 'none'));
    expect(others.map(({ name, license }) => `${name}: ${license}`)).toEqual([]);
    expect([isPermissive('GPL-3.0'), isPermissive('MIT AND GPL-3.0'), isPermissive('none')]).not.toContain(true);
  });

  it('gives a reason for every dependency', () => {
    const [production = '', development = ''] = read('docs/dependencies.md').split('\n## For development\n');
    const listed = (text: string): string[] =>
      [...text.matchAll(/^\| `(\S+)` \| \S.* \|$/gm)].map(([, name = '']) => name);
    expect(listed(production).sort()).toEqual(Object.keys(manifest.dependencies).sort());
    expect(listed(development).sort()).toEqual(Object.keys(manifest.devDependencies).sort());
  });

  it('is listed by npm run sbom, with versions and licences', async () => {
    const { exitCode, output } = await run('npm', ['run', '--silent', 'sbom'], { folder: ROOT });
    expect(exitCode).toBe(0);
    const bill = JSON.parse(output) as {
      bomFormat: string;
      metadata: { component: { name: string } };
      components: { name: string; version: string; licenses: object[]; hashes: object[] }[];
    };
    expect(bill).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'agent-governance-service' } },
    });
    const bundled = JSON.parse(read('console/package.json')) as Pick<Manifest, 'dependencies'>;
    const inProduction = [
      ...locked.filter(({ dev }) => dev !== true).map(({ name, version }) => `${name}@${version}`),
      ...Object.entries(bundled.dependencies).map(([name, version]) => `${name}@${version}`),
    ];
    expect([...new Set(bill.components.map(({ name, version }) => `${name}@${version}`))].sort()).toEqual(
      [...new Set(inProduction)].sort(),
    );
    const bare = bill.components.filter(({ licenses, hashes }) => licenses.length === 0 || hashes.length === 0);
    expect(bare.map(({ name }) => name)).toEqual([]);
  });
});
