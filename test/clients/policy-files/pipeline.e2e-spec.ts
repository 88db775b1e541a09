import { createRequire } from 'node:module';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { issueKey } from '../../support/application/factories';
import { ROOT } from '../../support/documents/markdown';
import { keepSecret } from '../../support/application/secret-watch';
import { send } from '../../support/application/send';
import { run, type ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, MAIN } from '../command-line';

interface Ran {
  readonly summary: string;
  /** The outputs that later jobs get. */
  readonly outputs: string;
  readonly result: ProgramRun;
}

interface Job {
  readonly env: Readonly<Record<string, string>>;
  readonly environment?: string;
  readonly steps: readonly { readonly run?: string }[];
}

const POLICY = `policies:
  - { name: reports, version: "1.0", effect: allow, subjects: ["kind:machine"], actions: [read], resources: ["reports/*"] }
tests:
  - { subject: { kind: machine }, action: read, resourceType: document, resourceId: reports/1, expect: allow }
`;

describeOnSqlite('The pipeline of examples/ci', () => {
  let app: TestApp;
  let folder: string;
  let jobs: Readonly<Record<'plan' | 'apply', Job>>;

  beforeAll(async () => {
    await buildCommandLine();
    const { parse } = createRequire(join(ROOT, 'clients', 'cli', 'package.json'))('yaml');
    jobs = parse(readFileSync(join(ROOT, 'examples', 'ci', 'policies.yml'), 'utf8')).jobs;
    app = await createTestApp();
    folder = mkdtempSync(join(tmpdir(), 'pipeline-'));
    mkdirSync(join(folder, 'bin'));
    symlinkSync(MAIN, join(folder, 'bin', 'gov'));
    mkdirSync(join(folder, 'policies'));
    writeFileSync(join(folder, 'policies', 'reports.yaml'), POLICY);
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  /** Runs its steps after the installation, as GitHub does. */
  async function runJob({ steps }: Job, scope: string, base = ''): Promise<Ran> {
    const { secret } = await issueKey(app, { name: scope, scopes: [scope] });
    keepSecret(secret);
    const summary = join(folder, 'summary.md');
    const outputs = join(folder, 'outputs');
    for (const file of [summary, outputs]) writeFileSync(file, '');
    const environment = {
      ...{ PATH: `${join(folder, 'bin')}:${String(process.env['PATH'])}`, XDG_CONFIG_HOME: folder },
      ...{ GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret, GITHUB_STEP_SUMMARY: summary },
      ...{ GITHUB_OUTPUT: outputs, BASE: base },
    };
    const commands = steps.flatMap(({ run: text = '' }) => (text === '' || text.startsWith('npm ') ? [] : [text]));
    const result = await run('bash', ['-e', '-o', 'pipefail', '-c', commands.join('\n')], { environment, folder });
    return { summary: readFileSync(summary, 'utf8'), outputs: readFileSync(outputs, 'utf8'), result };
  }

  async function inForce(): Promise<number> {
    return (await send(app, 'GET', '/api/v1/policies?status=active')).body.total;
  }

  it('plans with a key that can only read, and applies after the merge with the key of the environment', async () => {
    expect(jobs.plan.env['GOVERNANCE_API_KEY']).toContain('GOVERNANCE_READ_KEY');
    expect(JSON.stringify(jobs.plan)).not.toContain('GOVERNANCE_POLICIES_KEY');
    const planned = await runJob(jobs.plan, 'read');
    expect(planned.result).toMatchObject({ exitCode: 0, errors: '' });
    expect(planned.summary).toContain('### Policies: 1 to create');
    expect(planned.summary).toContain('Replay: 0 of 0 recorded requests');
    expect(await inForce()).toBe(0);
    expect(jobs.apply).toMatchObject({ environment: 'production' });
    const [, base = ''] = /^base=(\w{64})\n$/.exec(planned.outputs) ?? [];
    const refused = await runJob(jobs.apply, 'read', base);
    expect([refused.result.exitCode, await inForce()]).toEqual([1, 0]);
    const other = await runJob(jobs.apply, 'policies', '0'.repeat(64));
    expect([other.result.exitCode, await inForce()]).toEqual([1, 0]);
    const applied = await runJob(jobs.apply, 'policies', base);
    expect(applied.result).toMatchObject({ exitCode: 0, errors: '' });
    expect(applied.summary).toContain('Applied.');
    expect(await inForce()).toBe(1);
    const again = await runJob(jobs.plan, 'read');
    expect(again.result).toMatchObject({ exitCode: 0 });
    expect(again.summary).toContain('nothing to do');
    expect(again.outputs).toBe('');
  });
});
