import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { ROOT } from '../../support/documents/markdown';
import { keepSecret } from '../../support/application/secret-watch';
import { send } from '../../support/application/send';
import type { ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, gov } from '../command-line';

const REFUNDS = `policies:
  - name: refunds
    version: "1.1"
    effect: allow
    subjects: ["role:billing"]
    actions: [refund]
    resources: ["customers/*"]
    conditions: [{ parameter: /amount, op: lte, value: 250 }]
`;
const TESTS = `tests:
  - agent: bot
    action: refund
    resourceType: customer
    resourceId: customers/1
    parameters: { amount: 200 }
    expect: allow
    by: refunds
  - agent: bot
    action: refund
    resourceType: customer
    resourceId: customers/1
    parameters: { amount: 300 }
    expect: EXPECTED
`;

describeOnSqlite('Policies as files', () => {
  let app: TestApp;
  let folder: string;
  let readKey: string;

  beforeAll(async () => {
    await buildCommandLine();
  });
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gov-policies-'));
    app = await createTestApp();
    await createAgent(app, { name: 'bot', roles: ['billing'], capabilities: ['refund'] });
    const refunds = { name: 'refunds', version: '1.0', subjects: ['role:billing'], actions: ['refund'] };
    const conditions = [{ parameter: '/amount', op: 'lte', value: 100 }];
    await createPolicy(app, { ...refunds, resources: ['customers/*'], conditions });
    await createPolicy(app, {
      name: 'a/b: "c"',
      version: '1',
      effect: 'deny',
      actions: ['export'],
      description: "No: it's #1",
    });
    readKey = (await issueKey(app, { name: 'pull request', scopes: ['read'] })).secret;
    keepSecret(readKey);
  });
  afterEach(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  function policies(words: readonly string[], key: string | undefined = readKey): Promise<ProgramRun> {
    const environment = { XDG_CONFIG_HOME: folder, GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key };
    return gov(['policies', ...words], { environment, folder });
  }

  function write(name: string, text: string): void {
    mkdirSync(join(folder, 'policies'), { recursive: true });
    writeFileSync(join(folder, 'policies', name), text);
  }

  async function inForce(): Promise<string[]> {
    const { body } = await send(app, 'GET', '/api/v1/policies?status=active');
    return body.data.map(({ name, version }: { name: string; version: string }) => `${name} ${version}`);
  }

  it('pulls what is in force into files that change nothing', async () => {
    expect(await policies(['pull'])).toMatchObject({ exitCode: 0, output: '2 policies written to policies.\n' });
    expect(readdirSync(join(folder, 'policies'))).toEqual(['a-b-c.yaml', 'refunds.yaml']);
    const unchanged = await policies(['plan', '--prune']);
    expect(unchanged).toMatchObject({ exitCode: 0, output: expect.stringContaining('nothing to do: 2 in force') });
    write('refunds.yaml', REFUNDS);
    const refusedPull = await policies(['pull']);
    expect(refusedPull).toMatchObject({ exitCode: 1, errors: expect.stringContaining('refunds.yaml') });
    expect(readFileSync(join(folder, 'policies', 'refunds.yaml'), 'utf8')).toBe(REFUNDS);
    expect(await policies(['pull', '--force'])).toMatchObject({ exitCode: 0 });
    expect(readFileSync(join(folder, 'policies', 'refunds.yaml'), 'utf8')).toContain('"1.0"');
  });

  it('says which agent a test probably means', async () => {
    write('refunds.yaml', REFUNDS);
    await createAgent(app, { name: 'refund-bot' });
    write('tests.yaml', TESTS.replace('agent: bot', 'agent: refund-bott').replace('EXPECTED', 'deny'));
    const { exitCode, errors } = await policies(['test']);
    const message = 'tests[0].agent must be the id or the name of an existing agent. Did you mean "refund-bot"?';
    expect([exitCode, errors]).toEqual([1, `policies/tests.yaml:2:12: ${message}\n`]);
  });

  it('says that what is in no file stays in force, or is taken out of it', async () => {
    write('refunds.yaml', REFUNDS);
    const title = async (...words: string[]): Promise<string | undefined> =>
      (await policies(['plan', ...words])).output.split('\n')[0];
    expect(await title()).toBe('Policies: 1 to create; 1 in force is in no file and stays');
    await createPolicy(app, { name: 'third' });
    expect(await title()).toBe('Policies: 1 to create; 2 in force are in no file and stay');
    expect(await title('--prune')).toBe('Policies: 1 to create, 2 to deactivate');
    await policies(['apply', '--yes'], API_KEY);
    expect(await title()).toBe(
      'Policies: nothing to do: 1 in force as they are here; 2 in force are in no file and stay',
    );
  });

  it('pulls a policy for which more approvals are filled in than a file may require', async () => {
    await app.close();
    app = await createTestApp({ environment: { REQUIRED_APPROVALS: 'medium=20' } });
    const rules = { version: '1', effect: 'require_approval' };
    await createPolicy(app, { ...rules, name: 'everybody', approval: { decideWithin: 'PT2H' } });
    await createPolicy(app, { ...rules, name: 'ten', approval: { approvers: [{ subjects: ['*'], approvals: 10 }] } });
    const left = 'they depend on REQUIRED_APPROVALS (medium=20) where it is applied.';
    const sentence = `It requires 20 approvals, and a file at most 10: ${left}`;
    expect(await policies(['pull'], API_KEY)).toMatchObject({
      ...{ exitCode: 0, errors: `policies/everybody.yaml: ${sentence}\n` },
    });
    expect(readFileSync(join(folder, 'policies', 'everybody.yaml'), 'utf8')).toMatch(`# ${sentence}\n`);
    expect(await policies(['plan', '--prune'], API_KEY)).toMatchObject({
      ...{ exitCode: 0, errors: '', output: expect.stringContaining('nothing to do: 2 in force') },
    });
  });

  it('pulls texts with white space that YAML would fold away', async () => {
    const texts = [
      '  \n',
      '\n \n',
      'Two.\n\n  Indented.\n',
      'CRLF.\r\n \r\nEnd.',
      `\t${'word '.repeat(40)}\t\n`,
      'no',
      '~',
    ];
    for (const [index, description] of texts.entries())
      await createPolicy(app, { name: `text ${index}`, version: '1', actions: ['refund'], description });
    expect(await policies(['pull'])).toMatchObject({ exitCode: 0, errors: '' });
    const unchanged = await policies(['plan', '--prune']);
    expect(unchanged).toMatchObject({ exitCode: 0, errors: '' });
    expect(unchanged.output).toContain(`nothing to do: ${texts.length + 2} in force`);
  });

  it('takes what Windows makes of files, and no other encoding than UTF-8', async () => {
    expect(await policies(['pull'])).toMatchObject({ exitCode: 0 });
    const pulled = readFileSync(join(folder, 'policies', 'refunds.yaml'), 'utf8').replaceAll('\n', '\r\n');
    write('refunds.yaml', pulled);
    expect(await policies(['pull'])).toMatchObject({ exitCode: 0, errors: '' });
    write('refunds.yaml', `\ufeff${pulled}`);
    write('none.json', '\ufeff{ "policies": [] }');
    expect(await policies(['plan', '--prune'])).toMatchObject({ exitCode: 0, errors: '' });
    const latin = Buffer.from(REFUNDS.replace('billing', 'b\u00fcro'), 'latin1');
    writeFileSync(join(folder, 'policies', 'refunds.yaml'), latin);
    expect(await policies(['lint'])).toMatchObject({
      ...{ exitCode: 1, errors: 'policies/refunds.yaml: This is not UTF-8. Save it in that encoding.\n' },
    });
  });

  it('does not say that conditions hold where a parameter is missing, and ends each sentence once', async () => {
    const deny = 'effect: deny, subjects: ["*"], actions: [refund], resources: ["customers/*"]';
    const condition = '{ parameter: /amount, op: gt, value: 50 }';
    write('a.yaml', `policies:\n  - { name: large, version: "1", ${deny}, conditions: [${condition}] }\n`);
    const { output } = await policies(['plan', '--all']);
    expect(output.split('\n')).toContain('    where  the conditions and limits of large 1, refunds 1.0 let them match');
    expect(output.split('\n')).toContain('    unless the conditions and limits of refunds 1.0 let it match');
    const allow = 'effect: allow, subjects: ["*"], actions: [refund], resources: ["a%20b/*"]';
    write('a.yaml', `policies:\n  - { name: spelled, version: "1", ${allow} }\n`);
    expect((await policies(['plan'])).output).toMatch(/This is not all: [^\n]*[^.\n]\.\n/);
  });

  it('keeps large numbers that the service holds, and refuses those that would become others', async () => {
    const values = [1e21, 1e18, 2 ** 53, -(2 ** 64), 0.1, 1.5e300];
    const conditions = values.map((value) => ({ parameter: '/amount', op: 'lte', value }));
    await createPolicy(app, { name: 'large', version: '1', actions: ['refund'], conditions });
    expect(await policies(['pull'])).toMatchObject({ exitCode: 0, errors: '' });
    const unchanged = await policies(['plan', '--prune']);
    expect(unchanged).toMatchObject({ exitCode: 0, output: expect.stringContaining('nothing to do: 3 in force') });
    for (const literal of ['9007199254740993', '0x20000000000001', '1000000000000000000000', '1e400']) {
      write('large.yaml', `policies: []\ntests:\n  - parameters: { order: ${literal} }\n`);
      const place = 'policies/large.yaml:3:26: tests[0].parameters.order is a number that would change silently';
      expect(await policies(['lint'])).toMatchObject({ exitCode: 1, errors: expect.stringContaining(place) });
    }
  });

  it.each(['1.2', '1.1'])(
    'refuses tags, which would make something else of what is written: YAML %s',
    async (version) => {
      for (const value of ['!!float 100', '!!timestamp 2026-01-01', '!!binary aGk=', '!!set {a}', '!ours 100']) {
        write('tagged.yaml', `%YAML ${version}\n---\npolicies: []\ntests:\n  - parameters: { order: ${value} }\n`);
        const fault = /^policies\/tagged\.yaml:5:26: Unresolved tag: \S+\n$/;
        expect(await policies(['lint'])).toMatchObject({ exitCode: 1, errors: expect.stringMatching(fault) });
      }
    },
  );

  it('answers as JSON, also where nothing changes', async () => {
    write('refunds.yaml', REFUNDS);
    write('tests.yaml', TESTS.replace('EXPECTED', 'deny'));
    const answer = async (words: readonly string[], expected: number): Promise<unknown> => {
      const { exitCode, output, errors } = await policies([...words, '--json'], API_KEY);
      expect({ exitCode, errors }).toEqual({ exitCode: expected, errors: '' });
      return JSON.parse(output);
    };
    expect(await answer(['test'], 0)).toEqual({ passed: 2, failed: [] });
    const created = [expect.objectContaining({ change: 'create', name: 'refunds', version: '1.1' })];
    expect(await answer(['plan'], 2)).toMatchObject({ changes: created, tests: { passed: 2 } });
    const policySet = expect.stringMatching(/^\w{64}$/);
    const warnings = [expect.stringContaining('/amount has an upper bound and no lower one')];
    expect(await answer(['apply', '--yes'], 0)).toEqual({ changes: created, policySet, warnings });
    const keptChanges = [expect.objectContaining({ change: 'keep', name: 'refunds', version: '1.1' })];
    expect(await answer(['plan'], 0)).toMatchObject({ changes: keptChanges });
    expect(await answer(['apply', '--yes'], 0)).toEqual({ changes: keptChanges, policySet });
  });

  it('plans with a key that can only read, and applies a set whose tests pass', async () => {
    write('refunds.yaml', REFUNDS);
    write('tests.yaml', TESTS.replace('EXPECTED', 'allow'));
    const failed = {
      exitCode: 1,
      output: expect.stringContaining('policies/tests.yaml:9:5: tests[1] should be allow, and is deny by no policy'),
    };
    const near =
      '    refunds 1.1 would change this to allow if its conditions matched\n      /amount lte 250: it is 300\n';
    const testRun = await policies(['test']);
    expect(testRun).toMatchObject(failed);
    expect(testRun.output).toContain(near);
    expect(await policies(['plan'])).toMatchObject({ ...failed, output: expect.stringContaining(near) });
    expect(await policies(['apply', '--yes'], API_KEY)).toMatchObject(failed);
    const message = expect.stringContaining('tests.yaml:9:5: tests[1] should be allow, and is deny by no policy');
    for (const words of [['test'], ['plan'], ['apply', '--yes']]) {
      const { exitCode, output } = await policies([...words, '--json'], API_KEY);
      const { tests = JSON.parse(output) } = JSON.parse(output);
      expect([exitCode, tests.failed]).toEqual([1, [expect.objectContaining({ index: 1, message })]]);
    }
    write('tests.yaml', TESTS.replace('EXPECTED', 'deny'));
    expect(await policies(['test'])).toMatchObject({ exitCode: 0, output: '  Tests: 2 passed, 0 failed.\n' });
    const planned = await policies(['plan', '--prune', '--markdown', '--all']);
    expect(planned.exitCode).toBe(2);
    const lines = ['### Policies: 1 to create, 1 to deactivate', '+ create     refunds 1.1 in place of 1.0'];
    for (const line of [
      ...lines,
      '- deactivate a/b: "c" 1',
      '! no policy (default effect) → allow',
      '    who    bot',
    ]) {
      expect(planned.output.split('\n')).toContain(line);
    }
    const base = /^ +Base: (\w{64})$/m.exec(planned.output)?.[1] ?? '';
    expect(await policies(['apply', '--prune', '--yes'])).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('scope'),
    });
    expect(await policies(['apply', '--prune'], API_KEY)).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('--yes'),
    });
    expect(await inForce()).toHaveLength(2);
    const apply = ['apply', '--prune', '--yes', '--base', base];
    expect(await policies(apply, API_KEY)).toMatchObject({ exitCode: 0, output: expect.stringContaining('Applied.') });
    expect(await inForce()).toEqual(['refunds 1.1']);
    expect(await policies(apply, API_KEY)).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('Plan again'),
    });
    expect(await policies(['plan', '--prune', '--json'])).toMatchObject({ exitCode: 0 });
  });

  it('shows how the recorded requests would be answered', async () => {
    write('refunds.yaml', REFUNDS);
    const body = { action: 'refund', resourceType: 'customer', resourceId: 'customers/7', parameters: { amount: 200 } };
    expect((await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).status).toBe(403);
    const small = { ...body, parameters: { amount: 50 } };
    expect((await send(app, 'POST', '/api/v1/agents/bot/execute', { body: small })).status).toBe(200);
    const { exitCode, output } = await policies(['plan', '--replay', 'policies', '--markdown']);
    expect(exitCode).toBe(2);
    const heading = 'Replay: 1 of 2 recorded requests would get a different answer.';
    expect(output.split('\n')).toEqual(
      expect.arrayContaining([
        heading,
        '! deny → allow: bot: refund on customer/customers/7',
        '    by     no policy → refunds 1.1',
        expect.stringMatching(/^ {4}was {4}denied \(exe_\w+\)$/),
      ]),
    );
    expect((await policies(['plan'])).output).not.toContain('Replay');
    const none = await policies(['plan', '--to', '2020-01-01']);
    expect(none.output).toContain('Replay: 0 of 0 recorded');
    const applier = await issueKey(app, { name: 'merge', scopes: ['policies'] });
    const blind = await policies(['plan', '--replay'], applier.secret);
    expect(blind.output).toContain('a request that this key may not read');
    expect(await policies(['plan', '--from', 'yesterday'])).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('replay.from'),
    });
  });

  it('reports what the service refuses with file and line', async () => {
    write('others.json', '{"policies": []}');
    write('refunds.yaml', REFUNDS.replace('customers/*', 'customers//x'));
    expect(await policies(['plan'])).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining(
        'policies/refunds.yaml:7:17: policies[0].resources[0] must not have empty segments',
      ),
    });
    write('refunds.yaml', REFUNDS.replace('"1.1"', '"1.0"'));
    expect(await policies(['plan'])).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('policies/refunds.yaml:8:17: policies[0].conditions differs'),
    });
  });

  it('follows links within the folder, reads each file once, and names what it does not read', async () => {
    const offline = (): Promise<ProgramRun> => policies(['lint'], undefined);
    write('good.yaml', 'policies: []');
    const parts = join(folder, 'policies', '..data');
    mkdirSync(parts);
    writeFileSync(join(parts, 'TESTS.YAML'), TESTS.replace('EXPECTED', 'deny'));
    // So are the files of a ConfigMap mounted.
    symlinkSync('..data', join(folder, 'policies', 'linked'));
    symlinkSync(parts, join(folder, 'policies', 'linked again'));
    symlinkSync(join(folder, 'policies'), join(parts, 'back'));
    write('notes.txt', 'Not looked at.');
    write('.draft.yaml', REFUNDS);
    // So does Emacs lock the file that it edits.
    symlinkSync('somebody@somewhere.1234', join(folder, 'policies', '.#good.yaml'));
    expect(await offline()).toEqual({
      exitCode: 0,
      output: '2 files, 0 policies, 2 tests: well-formed.\n',
      errors:
        'Not read, as no policy files: policies/.#good.yaml, policies/..data, policies/.draft.yaml, policies/notes.txt.\n',
    });
    rmSync(parts, { recursive: true });
    expect(await offline()).toMatchObject({
      exitCode: 1,
      errors: 'There is no file or folder policies/linked.\n',
    });
  });

  it('reads regular files of the folder only, of a size that it parses at once', async () => {
    const lint = (...paths: string[]): Promise<ProgramRun> => policies(['lint', ...paths], undefined);
    const refused = async (text: string, ...paths: string[]): Promise<void> => {
      const { exitCode, errors } = await lint(...paths);
      expect([exitCode, errors]).toEqual([1, expect.stringContaining(text)]);
    };
    write('good.yaml', REFUNDS);
    const outside = join(folder, 'outside.yaml');
    writeFileSync(outside, TESTS.replace('EXPECTED', 'deny'));
    const link = join(folder, 'policies', 'link.yaml');
    for (const target of [outside, '/dev/zero', tmpdir()]) {
      symlinkSync(target, link);
      await refused('link.yaml is a link out of the folder');
      rmSync(link);
    }
    expect(await lint('policies', outside)).toMatchObject({ exitCode: 0 });
    execFileSync('mkfifo', [link]);
    await refused('link.yaml is not a regular file');
    await refused('/dev/zero is not a regular file', '/dev/zero');
    rmSync(link);
    write('link.yaml', '#'.repeat(1_048_577));
    await refused('has more than 1048576 bytes');
    write('link.yaml', '\n'.repeat(50_001));
    await refused('has more than 50000 lines');
    write('link.yaml', `{${Array.from({ length: 60_000 }, (_, index) => `k${index}: 1`).join(',')}}`);
    await refused('k1 is not known here');
    await refused('… and more');
    write('link.yaml', 'policies: []\n"policies": []\n');
    await refused('policies/link.yaml:2:1: the name "policies" is given twice');
    write('link.yaml', `a: &a 1\nb: [${'*a,'.repeat(101)}]`);
    await refused('has 101 aliases, and may have 100');
    write('link.yaml', '{"policies": [], "\\e[2KVALID\\u202e": 1}');
    await refused('"\\u001b[2KVALID');
  });

  it('cuts the names of files where a file system does', async () => {
    const name = '\u4e2d'.repeat(100);
    await createPolicy(app, { name, actions: ['b'] });
    expect(await policies(['pull'], API_KEY)).toMatchObject({ exitCode: 0 });
    expect(await policies(['plan', '--prune'], API_KEY)).toMatchObject({ exitCode: 0 });
  });

  it('checks the form without a service', async () => {
    const offline = (): Promise<ProgramRun> => policies(['lint'], undefined);
    expect(await offline()).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('no file or folder policies'),
    });
    write('good.yaml', REFUNDS);
    write('tests.yml', TESTS.replace('EXPECTED', 'deny'));
    expect(await offline()).toMatchObject({ exitCode: 0, output: '2 files, 1 policy, 2 tests: well-formed.\n' });
    const examples = join(ROOT, 'examples', 'policies');
    expect(await policies(['lint', examples], undefined)).toMatchObject({ exitCode: 0 });
    write('bad.json', '{"policies": [{"name": "x", "version": 1.0, "effect": "alow", "subject": "*"}], "test": []}');
    write('twice.yaml', REFUNDS);
    write('notes.txt', 'Not looked at.');
    const { exitCode, errors } = await offline();
    expect(exitCode).toBe(1);
    expect(errors.trimEnd().split('\n')).toEqual(
      expect.arrayContaining([
        'policies/bad.json:1:89: test is not known here: did you mean tests?',
        'policies/bad.json:1:40: policies[0].version must be text, so put it in quotes',
        'policies/bad.json:1:55: policies[0].effect must be one of allow, require_approval, deny',
        'policies/bad.json:1:74: policies[0].subject is not known here: did you mean subjects?',
        'policies/bad.json:1:15: policies[0] needs actions, such as ["send-reminder"]',
        'policies/twice.yaml:2:11: policies[0].name is that of policies/good.yaml:2:5: a set contains one version of a policy',
      ]),
    );
    write('bad.json', '{"policies": [], "tests": [{"parameters": {"order": 9007199254740993}}]}');
    const changed = 'policies/bad.json:1:53: tests[0].parameters.order is a number that would change silently';
    expect(await offline()).toMatchObject({ exitCode: 1, errors: expect.stringContaining(changed) });
    write('bad.json', '{"policies": [}');
    expect(await offline()).toMatchObject({ exitCode: 1, errors: expect.stringContaining('policies/bad.json:1:15: ') });
    write('bad.json', '{"policies": {}}');
    expect(await policies(['apply', '--prune', '--yes'], API_KEY)).toMatchObject({ exitCode: 1 });
    expect(await inForce()).toHaveLength(2);
  });
});
