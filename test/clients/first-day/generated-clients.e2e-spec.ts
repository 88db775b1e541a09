import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { ROOT } from '../../support/documents/markdown';
import { run } from '../../support/processes/shell';

/** Installed on demand: the generators take 150 MB, and nothing else needs them. */
const GENERATORS = join(ROOT, 'test', 'clients', 'generators');
const MODULES = join(GENERATORS, 'node_modules');
const COMPILER = {
  compilerOptions: {
    strict: true,
    noUncheckedIndexedAccess: true,
    target: 'es2022',
    module: 'nodenext',
    moduleResolution: 'nodenext',
    lib: ['es2022', 'dom', 'dom.iterable'],
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules', '@types')],
    skipLibCheck: true,
  },
  include: ['*.ts'],
};

describeOnSqlite('Clients that openapi-typescript and orval generate', () => {
  let app: TestApp;
  let folder: string;

  beforeAll(async () => {
    if (!existsSync(MODULES)) await succeed('npm', ['ci', '--no-audit', '--no-fund'], GENERATORS);
    app = await createTestApp();
    folder = mkdtempSync(join(tmpdir(), 'generated-clients-'));
    symlinkSync(MODULES, join(folder, 'node_modules'));
    cpSync(join(ROOT, 'openapi.json'), join(folder, 'openapi.json'));
    cpSync(join(GENERATORS, 'flow.ts.txt'), join(folder, 'flow.ts'));
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(COMPILER));
    const output = { target: 'client.ts', client: 'fetch', baseUrl: app.url };
    const orval = { service: { input: { target: 'openapi.json' }, output } };
    writeFileSync(join(folder, 'orval.config.mjs'), `export default ${JSON.stringify(orval)};\n`);
  }, 600_000);
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });

  async function succeed(program: string, words: readonly string[], where: string): Promise<string> {
    const { output, errors, exitCode } = await run(program, [...words], { folder: where });
    if (exitCode !== 0) throw new Error(output + errors);
    return output;
  }

  it('compile under strict TypeScript, and run a flow', async () => {
    const script = (name: string): string => join(MODULES, '.bin', name);
    await succeed(script('openapi-typescript'), ['openapi.json', '-o', 'types.ts'], folder);
    await succeed(script('orval'), ['--config', 'orval.config.mjs'], folder);
    await succeed(process.execPath, [join(ROOT, 'node_modules', 'typescript-7', 'bin', 'tsc'), '-p', '.'], folder);
    const output = await succeed(process.execPath, ['flow.js', app.url, API_KEY], folder);
    expect(JSON.parse(output)).toEqual(['authorized', 1, true, 'PERMISSION_DENIED', 'generated']);
  });
});
