import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import { ROOT } from '../../support/documents/markdown';
import { run, type ProgramRun } from '../../support/processes/shell';
import { startCommand } from '../../support/processes/started-program';
import { buildCommandLine, MAIN } from '../command-line';

/**
 * Packs a package as `npm pack` does, and unpacks it where npm installs it. Its dependencies are those of the clone.
 */
async function install(source: string, modules: string): Promise<void> {
  const packing = ['pack', '--json', '--ignore-scripts', '--pack-destination', modules];
  const [{ filename, name }] = JSON.parse((await succeeded('npm', packing, source)).output) as [
    { filename: string; name: string },
  ];
  const folder = join(modules, name);
  mkdirSync(folder);
  await succeeded('tar', ['-xzf', join(modules, filename), '--strip-components=1', '-C', folder], modules);
  rmSync(join(modules, filename));
  symlinkSync(join(source, 'node_modules'), join(folder, 'node_modules'));
}

async function succeeded(program: string, words: readonly string[], folder: string): Promise<ProgramRun> {
  const done = await run(program, words, { folder });
  if (done.exitCode !== 0) throw new Error(done.output + done.errors);
  return done;
}

describeOnSqlite('gov finds the service', () => {
  let folder: string;
  let installed: string;

  beforeAll(async () => {
    await buildCommandLine();
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'gov-found-')));
    const modules = join(folder, 'project', 'node_modules');
    mkdirSync(modules, { recursive: true });
    await install(ROOT, modules);
    await install(join(ROOT, 'clients', 'cli'), modules);
    installed = join(modules, 'agent-governance-cli', 'dist', 'cli', 'src', 'main.js');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ['in the clone that it belongs to', (): string => MAIN],
    ['in the package that is installed next to it', (): string => installed],
  ])('%s: up starts it on a database of the folder, and tamper verifies a copy', async (where, program) => {
    const place = join(folder, where);
    mkdirSync(place);
    const service = await startCommand(process.execPath, [program(), 'up'], place);
    const environment = { GOVERNANCE_URL: service.url, GOVERNANCE_API_KEY: API_KEY };
    const tamper = (): Promise<ProgramRun> =>
      run(process.execPath, [program(), 'tamper'], { environment, folder: place });
    try {
      await createAgent(service, { name: 'bot' });
      const { exitCode, output } = await tamper();
      expect(output).toMatch(/ VALID, 1 entries[^]* INVALID, 1 entries/);
      expect(exitCode).toBe(0);
    } finally {
      expect(await service.stop()).toBe(0);
    }
    expect(readdirSync(join(place, 'data'))).toContain('governance.db');
  });

  describe('where none is installed next to it', () => {
    let gov: string;
    let evidence: string;

    beforeAll(async () => {
      const alone = join(folder, 'alone');
      mkdirSync(alone);
      await install(join(ROOT, 'clients', 'cli'), alone);
      gov = join(alone, 'agent-governance-cli', 'dist', 'cli', 'src', 'main.js');
      // A folder of evidence, with code in it that says of everything that it is right.
      evidence = join(folder, 'evidence');
      const planted = join(evidence, 'node_modules', 'agent-governance-service');
      for (const part of ['verifier', 'scripts', 'dist']) mkdirSync(join(planted, part), { recursive: true });
      writeFileSync(join(planted, 'package.json'), JSON.stringify({ name: 'agent-governance-service' }));
      for (const program of ['verifier/main.mjs', 'scripts/ensure-built.mjs', 'dist/main.js'])
        writeFileSync(join(planted, program), "console.log('VALID')");
      writeFileSync(join(evidence, 'export.ndjson'), '');
    });

    it.each([[['verify', 'export.ndjson']], [['up']], [['tour', '--no-pause']], [['tamper']]])(
      'gov %j says what to do, and runs nothing of the current folder',
      async (words) => {
        const environment = { GOVERNANCE_URL: 'http://127.0.0.1:1', GOVERNANCE_API_KEY: API_KEY };
        const { exitCode, output, errors } = await run(process.execPath, [gov, ...words], {
          folder: evidence,
          environment,
        });
        expect([exitCode, output]).toEqual([1, '']);
        expect(errors).toContain('The service is not installed next to gov.');
        expect(existsSync(join(evidence, 'data'))).toBe(false);
      },
    );

    it('evidence names a command that verifies the file, also where a shell needs quotes', async () => {
      const app = await createTestApp();
      const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY };
      await createAgent(app, { name: 'bot', capabilities: ['pay'] });
      await createPolicy(app, { actions: ['pay'] });
      const body = { action: 'pay', resourceType: 'bill', resourceId: '1' };
      const { id } = (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
      const { publicKey } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
      writeFileSync(join(evidence, 'key.txt'), publicKey);
      const words = [gov, 'evidence', id, '--out', "ann's file.evidence.json"];
      const { output } = await run(process.execPath, words, { folder: evidence, environment });
      await app.close();
      const [, command = ''] = output.split('\n');
      expect(command).toBe(
        String.raw`gov verify --service path/to/the/service 'ann'\''s file.evidence.json' --public-key key.txt`,
      );
      const shell = `gov() { "${process.execPath}" "${gov}" "$@"; }; ${command.replace('path/to/the/service', ROOT)}`;
      const verified = await run('sh', ['-c', shell], { folder: evidence });
      expect([verified.exitCode, verified.output]).toEqual([0, expect.stringContaining('RECOMPUTED: ')]);
    });

    it('--service names the folder of the one to run', async () => {
      const words = (service: string): string[] => [gov, 'verify', '--service', service, 'export.ndjson', '--json'];
      const verified = await run(process.execPath, words(ROOT), { folder: evidence });
      expect([verified.exitCode, verified.output]).toEqual([3, expect.stringContaining('"complete":false')]);
      const wrong = await run(process.execPath, words(evidence), { folder: evidence });
      expect([wrong.exitCode, wrong.errors]).toEqual([1, expect.stringContaining('agent-governance-service')]);
    });
  });
});
