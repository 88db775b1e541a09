import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnSqlite } from '../../support/database/database-kind';
import { ROOT } from '../../support/documents/markdown';
import { run, type ProgramRun } from '../../support/processes/shell';
import { buildCommandLine } from '../command-line';

/** Files of a clone that `npm run gov` needs. */
const NEEDED = [
  ...['package.json', 'scripts', 'policies.schema.json', 'gateway.schema.json', 'examples/demo.json'],
  'clients/build-package.mjs',
  ...['src/core', 'src/http', 'src/governance/policies/patterns', 'src/governance/policies/conditions'],
  'src/governance/agents/agent-name.ts',
  ...['src', 'package.json', 'tsconfig.json'].map((name) => `clients/typescript/${name}`),
  ...['build.mjs', 'copied-sources.mjs', 'package.json', 'package-lock.json', 'tsconfig.json', 'src'].map(
    (name) => `clients/cli/${name}`,
  ),
];
const POLICY = 'name: p, version: "1", effect: deny, subjects: ["*"], actions: [write], resources: ["*"]';

// Independent of the database, so once is enough.
describeOnSqlite('npm run gov in a clone', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gov-clone-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const inClone = (clone: string, words: readonly string[]): Promise<ProgramRun> =>
    run('npm', ['run', '--silent', '--prefix', clone, 'gov', '--', ...words], { folder });

  it('takes paths from the folder where it is called', async () => {
    await buildCommandLine();
    writeFileSync(join(folder, 'bots.yaml'), `policies: [{ ${POLICY} }]\n`);
    const linted = await inClone(ROOT, ['policies', 'lint', 'bots.yaml']);
    expect(linted).toMatchObject({ exitCode: 0, errors: '' });
  });

  it('says once that it is built, and not on the standard output', async () => {
    const clone = join(folder, 'clone');
    for (const name of NEEDED)
      cpSync(join(ROOT, name), join(clone, name), { recursive: true, preserveTimestamps: true });
    mkdirSync(join(clone, 'clients', 'cli'), { recursive: true });
    symlinkSync(join(ROOT, 'clients', 'cli', 'node_modules'), join(clone, 'clients', 'cli', 'node_modules'));
    const first = await inClone(clone, ['--version']);
    const output = expect.stringMatching(/^\d+\.\d+\.\d+\n$/);
    expect(first).toEqual({ exitCode: 0, output, errors: 'Building gov: this takes up to half a minute.\n' });
    expect(await inClone(clone, ['--version'])).toEqual({ exitCode: 0, output, errors: '' });
  });
});
