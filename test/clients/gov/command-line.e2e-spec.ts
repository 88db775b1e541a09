import { once } from 'node:events';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { approved, company, order, pending, requireApproval, type Company } from '../../approvals/support';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { createEntity, createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { run, type ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, gov as runGov, MAIN } from '../command-line';

/**
 * Milliseconds for which the typed client asks anew unless it is told otherwise; each command alone would take as long.
 */
const PATIENCE = 30_000;

describeOnSqlite('The command line', () => {
  let app: TestApp;
  let people: Company;
  let home: string;
  let annsKey: string;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp();
    home = mkdtempSync(join(tmpdir(), 'gov-home-'));
    people = await company(app);
    await requireApproval(app);
    await createPolicy(app, { name: 'sending', version: '2', actions: ['send'] });
    annsKey = (await issueKey(app, { name: 'ann', scopes: ['read', 'review', 'audit'], agentId: people.ann.id }))
      .secret;
  });
  afterAll(async () => {
    rmSync(home, { recursive: true });
    await app.close();
  });

  function gov(words: readonly string[], environment: NodeJS.ProcessEnv = {}, input = ''): Promise<ProgramRun> {
    const usual = { XDG_CONFIG_HOME: home, GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY, ...environment };
    return runGov(words, { environment: usual, input });
  }

  async function printed(words: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<string> {
    const { exitCode, output, errors } = await gov(words, environment);
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
    return output;
  }

  it.each([
    [['login'], {}, 'agk_SECRET with a blank\n'],
    [['whoami'], { GOVERNANCE_API_KEY: 'agk_SECRET\nagk_OTHER' }, ''],
    [['mcp', '--url', 'http://127.0.0.1:1', '--header', 'Authorization: Bearer SECRET\nX'], {}, ''],
    [['mcp', '--url', 'http://127.0.0.1:1', '--header', 'SECRET'], {}, ''],
  ])('refuses in one line what no request can carry, without showing it: gov %j', async (words, environment, input) => {
    const { exitCode, errors } = await gov(words, environment, input);
    expect([exitCode, errors]).toEqual([1, expect.stringMatching(/^(?!.*SECRET).+\n$/)]);
  });

  it.each([[['login']], [['policies', 'pull', '/dev/null/policies']]])(
    'says in one line where it cannot write: gov %j',
    async (words) => {
      const { exitCode, errors } = await gov(words, { XDG_CONFIG_HOME: '/dev/null/home' }, `${annsKey}\n`);
      expect([exitCode, errors]).toEqual([1, expect.stringMatching(/^ENOTDIR: .*\/dev\/null\/.*\n$/)]);
    },
  );

  it('keeps the key of a login in a file that only its owner reads', async () => {
    const nobody = { GOVERNANCE_API_KEY: undefined, GOVERNANCE_URL: undefined };
    const without = await gov(['whoami'], nobody);
    expect(without).toMatchObject({ exitCode: 1, errors: expect.stringContaining('gov login') });
    // One that others could read, and have open.
    mkdirSync(join(home, 'agent-governance'), { recursive: true });
    writeFileSync(join(home, 'agent-governance', 'login.json'), '', { mode: 0o644 });
    const open = openSync(join(home, 'agent-governance', 'login.json'), 'r');
    const { exitCode, output } = await gov(['login', '--url', app.url], nobody, `${annsKey}\n`);
    expect(readFileSync(open, 'utf8')).toBe('');
    closeSync(open);
    expect([exitCode, output]).toEqual([0, expect.stringContaining(people.ann.id)]);
    const file = join(home, 'agent-governance', 'login.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ url: app.url, key: annsKey });
    expect(await printed(['whoami'], nobody)).toContain('scopes:  read, review, audit');
    const shadowed = await gov(['login', '--url', app.url], {}, `${annsKey}\n`);
    expect(shadowed.errors).toBe(
      'Warning: GOVERNANCE_API_KEY is set and takes precedence. Unset it to use the key that was just stored.\n',
    );
    const wrong = await gov(['login', '--url', app.url], nobody, 'wrong\n');
    expect(wrong).toMatchObject({ exitCode: 1, errors: expect.stringContaining('request ') });
    expect(JSON.parse(readFileSync(file, 'utf8')).key).toBe(annsKey);
  });

  it('keeps a key for each profile, which comes before that in GOVERNANCE_API_KEY', async () => {
    const { secret } = await issueKey(app, { team: 'support', scopes: ['read'] });
    const login = await gov(['login', '--profile', 'support', '--url', app.url], {}, `${secret}\n`);
    expect([login.exitCode, login.errors]).toEqual([0, '']);
    const file = join(home, 'agent-governance', 'profiles', 'support.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ url: app.url, key: secret });
    for (const words of [
      ['whoami', '--profile', 'support'],
      ['--profile', 'support', 'whoami'],
    ])
      expect(await printed(words, {})).toContain('team:    support');
    expect(await printed(['policies', '--profile', 'support', '--json'], {})).toContain('[');
    expect(await printed(['whoami'], { GOVERNANCE_PROFILE: 'support' })).toContain('team:    support');
    expect(await printed(['whoami'], {})).not.toContain('team:');
    const unknown = await gov(['whoami', '--profile', 'sales'], {});
    expect(unknown).toMatchObject({ exitCode: 1, errors: expect.stringContaining('gov login --profile sales') });
    const wrong = await gov(['whoami', '--profile', '../login'], {});
    expect(wrong).toMatchObject({ exitCode: 1, errors: expect.stringContaining('the name of a profile') });
  });

  it.each(['', '.'])('takes no folder of its files from where it is called: XDG_CONFIG_HOME=%j', async (configHome) => {
    const own = mkdtempSync(join(home, 'own-'));
    const file = join('agent-governance', 'login.json');
    mkdirSync(join(own, 'here', 'agent-governance'), { recursive: true });
    const others = '{"url":"http://127.0.0.1:9","key":"of others"}';
    writeFileSync(join(own, 'here', file), others);
    const environment = {
      ...{ HOME: own, XDG_CONFIG_HOME: configHome, APPDATA: undefined },
      ...{ GOVERNANCE_API_KEY: undefined, GOVERNANCE_URL: undefined },
    };
    const folder = join(own, 'here');
    const without = await runGov(['whoami'], { environment, folder });
    expect(without.errors).toContain('No key for http://127.0.0.1:3000');
    const input = `${annsKey}\n`;
    const login = await runGov(['login', '--url', app.url], { environment, folder, input });
    expect(login.exitCode).toBe(0);
    expect(JSON.parse(readFileSync(join(own, '.config', file), 'utf8')).key).toBe(annsKey);
    expect(readFileSync(join(folder, file), 'utf8')).toBe(others);
  });

  it('sends the key of a login only to where the login was', async () => {
    let requests = 0;
    const other = createServer((_, response) => {
      requests += 1;
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const nobody = { GOVERNANCE_API_KEY: undefined };
    expect(await gov(['login'], nobody, `${annsKey}\n`)).toMatchObject({ exitCode: 0 });
    for (const words of [['whoami'], ['show', people.ann.id], ['hook', 'claude-code']]) {
      const input = '{"session_id":"a","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{}}';
      const refused = await gov(words, { ...nobody, GOVERNANCE_URL: `${elsewhere}/` }, input);
      const expected = `No key for ${elsewhere}: run \`gov login --url ${elsewhere}\``;
      expect(refused.errors).toContain(expected);
      expect(refused.exitCode).toBeGreaterThan(0);
    }
    other.close();
    expect(requests).toBe(0);
    for (const same of [`${app.url}/api/v1/`, app.url.replace('http://127.0.0.1', 'HTTP://127.0.0.01')]) {
      expect(await printed(['whoami'], { ...nobody, GOVERNANCE_URL: same })).toContain('review, audit');
    }
  });

  it('shows a person what is waiting for them, and sends their decision', async () => {
    const execution = await pending(app, people.bot, { resourceId: 'orders/cli' });
    const ann = { GOVERNANCE_API_KEY: annsKey };
    const inbox = await printed(['inbox'], ann);
    expect(inbox).toContain(String(execution.decisionId));
    expect(inbox).toContain('1 of role:finance');
    expect(inbox).not.toContain('\u001b');
    const approved = await printed(['approve', String(execution.decisionId), '--yes', '--comment', 'Seen.'], ann);
    expect(approved).toBe(`${String(execution.decisionId)} is approved.\n`);
    expect(await printed(['inbox'], ann)).toBe('Nothing.\n');
    const again = await gov(['approve', String(execution.decisionId)], ann);
    expect(again).toMatchObject({ exitCode: 1, errors: expect.stringContaining('final') });
    const printedExecution = JSON.parse(await printed(['show', execution.id], ann));
    expect(printedExecution).toMatchObject({ id: execution.id, outcome: 'approved' });
  });

  it('rejects', async () => {
    const { decisionId } = await pending(app, people.bot, { resourceId: 'orders/cli-2' });
    const words = ['reject', String(decisionId), '--yes', '--json'];
    const rejected = JSON.parse(await printed(words, { GOVERNANCE_API_KEY: annsKey }));
    expect(rejected).toMatchObject({ status: 'rejected', reviews: [{ approverId: people.ann.id }] });
  });

  it('explains what the policies say', async () => {
    expect(await printed(['explain', 'bot', 'send', 'mail', 'mails/1'])).toContain('decided by sending 2');
    expect(await printed(['explain', 'bot', 'refund', 'payment', 'orders/9'])).toContain('needs 1 of role:finance');
    const denied = await gov(['explain', 'bot', 'review', 'mail', 'mails/1']);
    expect(denied).toMatchObject({
      exitCode: 1,
      output: expect.stringMatching(/^deny \(capability_missing\)\n {2}bot is not capable of review, but of \w/),
    });
    const conditions = [
      { parameter: '/amount', op: 'lte', value: 50 },
      { parameter: '/currency', op: 'in', value: ['EUR', 'USD'] },
      { parameter: '/to', op: 'exists', value: true },
    ];
    await createPolicy(app, { name: 'small', version: '1', actions: ['refund'], priority: 9, conditions });
    const small = ['explain', 'bot', 'refund', 'payment', 'orders/9', '--parameters'];
    const near = await printed([...small, '{"amount": 80, "currency": "EUR"}']);
    expect(near).toContain('small 1 would change this to allow if its conditions matched\n');
    expect(near).toContain('    /amount lte 50: it is 80\n    /to exists true: it is missing\n');
    expect(near).not.toContain('/currency');
    expect(await printed(small.slice(0, -1))).toContain('    /amount lte 50: it is missing, so this is unknown\n');
    expect(await printed([...small, '{"amount": 50, "currency": "EUR", "to": "x"}'])).toContain('decided by small 1');
    const limits = [{ max: 100, of: '/amount', per: 'day', by: 'agent' }];
    const { id } = await createPolicy(app, { name: 'limited', version: '1', actions: ['refund'], priority: 9, limits });
    const limited = await printed([...small, '{"amount": 101}']);
    expect(limited).toMatch(
      / {2}limited 1 would allow it, but 0 of 100 are used and this request needs 101; it begins anew/,
    );
    await send(app, 'POST', `/api/v1/policies/${id}/deactivate`);
    const faulty = await gov(['explain', 'bot', 'send', 'mail', 'mails/1', '--parameters', '[1]']);
    expect(faulty).toMatchObject({ exitCode: 1, errors: expect.stringContaining('JSON object') });
    const unchangedParameters =
      '{"n": [9007199254740992, 1e21, -1000000000000000000], "9007199254740993": "1e999, \\"1e999"}';
    expect(await printed(['explain', 'bot', 'send', 'mail', 'mails/1', '--parameters', unchangedParameters])).toContain(
      'sending 2',
    );
    const large = '{"orders": [{"n": 9007199254740993}]}';
    const changed = await gov(['explain', 'bot', 'send', 'mail', 'mails/1', '--parameters', large]);
    const message = 'parameters.orders[0].n is a number that would change silently';
    expect(changed).toMatchObject({ exitCode: 1, output: '', errors: expect.stringContaining(message) });
  });

  it.each([
    [['agents', '--kind', 'human'], 'ann'],
    [['policies', '--effect', 'allow'], 'sending'],
    [['executions', '--action', 'refund'], 'orders/cli'],
    [['keys', 'list'], 'read, review, audit'],
    [['keys'], 'read, review, audit'],
    [['audit', '--action', 'api_key.created'], 'api_key.created'],
  ])('lists: %j', async (words, expected) => {
    const lines = await printed(words);
    expect(lines).toContain(expected);
    if (words[0] === 'keys') expect(lines).toContain(`${people.ann.id} (ann)`);
    const records = JSON.parse(await printed([...words, '--json', '--limit', '1']));
    expect(records).toHaveLength(1);
  });

  it('cancels what a run waits for', async () => {
    const { id } = await pending(app, people.bot, { resourceId: 'orders/cli-run', run: 'a run' });
    const words = ['executions', 'cancel', 'a run', '--reason', 'It ended.'];
    expect(await printed([...words, '--agent', 'bot'])).toBe('1 execution of a run is cancelled.\n');
    const cancelled = (await send(app, 'GET', `/api/v1/executions/${id}`)).body;
    expect(cancelled.outcome).toBe('cancelled');
    expect(await printed([...words, '--agent', people.bot.id])).toBe('0 executions of a run are cancelled.\n');
    const unnamed = await gov(words);
    expect(unnamed).toMatchObject({ exitCode: 1, errors: expect.stringContaining('agentId is required') });
  });

  it('issues and revokes a key', async () => {
    const free = await gov(['keys', 'issue', 'free', '--scopes', 'execute']);
    expect(free).toMatchObject({
      exitCode: 0,
      errors: expect.stringContaining('it may act as every agent. --agent binds'),
    });
    const words = [
      'keys',
      'issue',
      'shop',
      '--scopes',
      'execute',
      '--agent',
      'bot',
      '--principals',
      'user:*, role:vip',
    ];
    expect(JSON.parse(await printed(words))).toMatchObject({ principals: ['user:*', 'role:vip'] });
    const issued = JSON.parse(await printed(['keys', 'issue', 'job', '--scopes', 'read, audit', '--json']));
    expect(issued).toMatchObject({ scopes: ['read', 'audit'], secret: expect.stringMatching(/^agk_/) });
    expect(await printed(['keys', 'revoke', issued.id, '--reason', 'The job is done.'])).toBe(
      `${issued.id} is revoked.\n`,
    );
    const help = await printed(['keys', 'issue', '--help']);
    expect(help).toContain('issue a key and print it as JSON');
    expect(help).not.toContain('--json');
    const refused = await gov(['agents'], { GOVERNANCE_API_KEY: issued.secret });
    expect(refused).toMatchObject({ exitCode: 1, output: '' });
  });

  it('registers, changes, suspends and resumes agents', async () => {
    const created = JSON.parse(
      await printed(['agents', 'create', 'clerk', '--capabilities', 'read_*, file', '--roles', 'office', '--json']),
    );
    expect(created).toMatchObject({ kind: 'machine', roles: ['office'], capabilities: ['read_*', 'file'] });
    const person = await printed(['agents', 'create', 'olga', '--kind', 'human', '--description', 'Of the office.']);
    expect(person).toMatch(/^olga \(agt_\w+\) is registered: human, active\.\n/);
    const changed = await printed(['agents', 'set', 'clerk', '--roles', '', '--description', 'Files.']);
    expect(changed).toMatch(/roles +none\n +capabilities +read_\*, file\n/);
    expect(await printed(['agents', 'suspend', 'clerk', '--reason', 'It loops.'])).toContain('is: machine, suspended.');
    expect(await printed(['agents', '--status', 'suspended'])).toContain('clerk');
    expect(await printed(['audit', '--subject-id', created.id])).toMatch(
      new RegExp(`agent\\.suspended .* ${created.id} \\(.+\\) `),
    );
    const { secret } = await issueKey(app, { name: 'desk', scopes: ['admin'] });
    await send(app, 'PATCH', '/api/v1/agents/clerk', { key: secret, body: { description: 'Of the desk.' } });
    expect(await printed(['audit', '--subject-id', created.id, '--limit', '1'])).toMatch(
      / api_key key_\w{26} \(desk\)$/m,
    );
    expect(await printed(['agents', 'resume', created.id])).toContain('active.');
    expect(await printed(['agents', 'list', '--status', 'suspended'])).toBe('Nothing.\n');
    const nothing = await gov(['agents', 'set', 'clerk']);
    expect(nothing).toMatchObject({ exitCode: 1, errors: expect.stringContaining('Nothing to change') });
    const kind = await gov(['agents', 'create', 'x', '--kind', 'robot']);
    expect(kind).toMatchObject({ exitCode: 1, errors: expect.stringContaining('machine, human') });
    const unknown = await gov(['agents', 'suspend', 'nobody']);
    expect(unknown).toMatchObject({ exitCode: 1, errors: expect.stringContaining('not found') });
  });

  it('shows no control characters from others on a terminal', async () => {
    await createPolicy(app, { name: 'plain', description: 'x', subjects: ['agent:a'], actions: ['b'] });
    const { output } = await gov(['policies']);
    expect([...output].filter((character) => character < ' ' && character !== '\n')).toEqual([]);
  });

  it.each([[[]], [['--follow']]])('prints the audit trail as it grows: %j', async (words) => {
    const line = ['"$0" "$1" events --after 0 --json', ...words, '| head -n 2; echo "${PIPESTATUS[0]}"'].join(' ');
    const environment = { XDG_CONFIG_HOME: home, GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY };
    const running = { isOver: false };
    const printing = run('bash', ['-c', line, process.execPath, MAIN], { environment });
    void printing.finally(() => (running.isOver = true));
    // It notices only when it prints the next entry that nobody reads it.
    while (!running.isOver) {
      await createEntity(app);
      await sleep(100);
    }
    const { output, errors } = await printing;
    const [first, second, exitCode] = output.split('\n');
    expect(errors).toBe('');
    expect([first, second].map((entry) => JSON.parse(entry ?? '').sequence)).toEqual([1, 2]);
    expect(exitCode).toBe('0');
  });

  it('names the agents and keys of the entries that it follows', async () => {
    const line = '"$0" "$1" events --after 0 --action api_key.created | grep -m 1 more';
    const environment = { XDG_CONFIG_HOME: home, GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY };
    const running = { isOver: false };
    const printing = run('bash', ['-c', line, process.execPath, MAIN], { environment });
    void printing.finally(() => (running.isOver = true));
    while (!running.isOver) {
      await issueKey(app, { name: 'more', scopes: ['read'], agentId: people.ann.id });
      await sleep(100);
    }
    expect(await printing).toMatchObject({
      errors: '',
      output: expect.stringMatching(
        new RegExp(`  api_key\\.created  key_\\w+ \\(more\\)  of ${people.ann.id} \\(ann\\)  by api_key env\n$`),
      ),
    });
  });

  it('verifies an export offline', async () => {
    const exported = await printed(['export']);
    const file = join(home, 'chain.jsonl');
    expect(await printed(['export', '--out', file])).toBe('');
    expect(readFileSync(file, 'utf8')).toBe(exported);
    expect(await gov(['verify', '-', '--json'], {}, exported)).toMatchObject({ exitCode: 0 });
    const cut = exported.slice(0, exported.lastIndexOf('\n', exported.length - 2) + 1);
    expect(await gov(['verify', '-'], {}, cut)).toMatchObject({ exitCode: 3 });
  });

  it('keeps the decision file of an execution, and has it recomputed offline', async () => {
    const { id } = await approved(app, people, order());
    const file = join(home, 'kept.evidence.json');
    expect(await printed(['evidence', id, '--out', file])).toBe(
      `The decision file is written to ${file}. Verify it offline, with the public key that you keep in key.txt:\n` +
        `gov verify ${file} --public-key key.txt\n`,
    );
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ executionId: id });
    expect(await printed(['evidence', id])).toBe(readFileSync(file, 'utf8'));
    const { publicKey } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
    expect(await printed(['evidence', id, '--verify', '--public-key', publicKey])).toMatch(/^RECOMPUTED: approved as/m);
    expect(await printed(['verify', file, '--public-key', publicKey])).toMatch(/^RECOMPUTED: approved as/m);
    const unnamed = await printed(['evidence', id, '--out', join(home, 'kept.json')]);
    expect(unnamed).toContain('To verify it, let its name end in .evidence.json.');
    const byService = await gov(['evidence', id, '--verify', '--out', file]);
    expect(byService).toMatchObject({ exitCode: 0, errors: expect.stringContaining(publicKey) });
    expect(byService.errors).toContain('the service cannot vouch for itself');
    const another = 'log+0e9a3a5c+AXb0hY3H2Hcl3D1b2Pp3K2mJjB7k4XwqQ5t3E5cYh8xq';
    expect((await gov(['evidence', id, '--verify', '--public-key', another])).exitCode).toBeGreaterThan(0);
  });

  it('leaves no file of what it could not read whole', async () => {
    const file = join(home, 'none.evidence.json');
    for (const words of [
      ['exe_none', '--out', file],
      ['exe_none', '--verify', '--out', file],
    ]) {
      const { exitCode, errors } = await gov(['evidence', ...words]);
      expect([exitCode, errors]).toEqual([1, expect.stringMatching(/The execution was not found\. \(request .*\)\n$/)]);
    }
    const ofChange = await gov(['evidence', 'dec_none', '--out', file]);
    expect(ofChange).toMatchObject({ exitCode: 1, errors: expect.stringContaining('The decision was not found.') });
    expect(readdirSync(home).filter((name) => name.startsWith('none'))).toEqual([]);
    const folder = join(home, 'no-folder', 'x.evidence.json');
    expect((await gov(['evidence', 'exe_none', '--out', folder])).errors).toMatch(/^ENOENT: .*\n$/);
    const { id } = await approved(app, people, order());
    expect((await gov(['evidence', id, '--verify', '--out', join(home, 'x.json')])).errors).toMatch(/\.evidence\.json/);
    const unverified = await gov(['evidence', id, '--public-key', 'log+1+2', '--out', join(home, 'none.json')]);
    expect(unverified).toMatchObject({ exitCode: 1, errors: expect.stringContaining('belongs to --verify') });
    expect(readdirSync(home)).not.toContain('none.json');
  });

  it('ends quietly when its reader stops reading', async () => {
    const environment = { XDG_CONFIG_HOME: home, GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY };
    const words = ['-c', '"$0" "$1" export | head -c 1; echo " ${PIPESTATUS[0]}"', process.execPath, MAIN];
    expect(await run('bash', words, { environment })).toEqual({ exitCode: 0, output: '{ 0\n', errors: '' });
  });

  it.each([
    [[], 'commands'],
    [['policies'], 'commands'],
    [['policies', 'plan'], 'options'],
    [['keys'], 'commands'],
    [['agents'], 'commands'],
    [['hook'], 'commands'],
    [['mcp'], 'options'],
  ])('completes in bash what its help names: %j', async (words, what) => {
    const helpNames = namedIn(await printed([...words, '--help']), what);
    const script = `source <("$0" "$1" completion bash); COMP_WORDS=(gov \${@:2} ''); COMP_CWORD=$(($# ));
_gov; echo "\${COMPREPLY[*]}"`;
    const environment = { XDG_CONFIG_HOME: home };
    const { output } = await run('bash', ['-c', script, process.execPath, MAIN, ...words], { environment });
    expect(helpNames.length).toBeGreaterThan(0);
    expect(output.trim().split(' ')).toEqual(expect.arrayContaining(helpNames));
  });

  it('says which version it is', async () => {
    expect(await printed(['--version'])).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('says long before the patience of other clients is over that nobody listens at the address', async () => {
    const nobody = createServer().listen(0, '127.0.0.1');
    await once(nobody, 'listening');
    const url = `http://127.0.0.1:${(nobody.address() as AddressInfo).port}`;
    nobody.close();
    const away = { GOVERNANCE_URL: url };
    const expectedError = `The governance service at ${url} cannot be reached: the connection was refused. Start it by \`gov up\`, or say where it is`;
    const began = performance.now();
    const commands = [['inbox', '--as', 'ann'], ['approve', 'dec_1', '--as', 'ann'], ['events']];
    const answers = await Promise.all(commands.map((words) => gov(words, away)));
    answers.push(await gov(['login'], away, API_KEY));
    for (const answer of answers)
      expect(answer).toMatchObject({ exitCode: 1, errors: expect.stringContaining(expectedError) });
    expect(performance.now() - began).toBeLessThan(PATIENCE);
  });

  it('says what is wrong with its arguments', async () => {
    expect(await gov(['unheard-of'])).toMatchObject({ exitCode: 1, errors: expect.stringContaining('unheard-of') });
    const noRecord = await gov(['show', 'xyz_1']);
    expect(noRecord).toMatchObject({ exitCode: 1, errors: expect.stringContaining('agt_') });
    const unknown = await gov(['whoami'], { GOVERNANCE_API_KEY: 'wrong' });
    expect(unknown).toMatchObject({ exitCode: 1, errors: expect.stringContaining('gov login') });
    const unbound = await gov(['approve', 'dec_1', '--yes']);
    expect(unbound).toMatchObject({ exitCode: 1, errors: expect.stringContaining('name the reviewer with --as') });
    const stranger = await gov(['approve', 'dec_1', '--yes', '--as', 'nobody']);
    expect(stranger.errors).not.toContain('name the reviewer with --as');
    const scheme = await gov(['whoami'], { GOVERNANCE_URL: 'localhost:3000' });
    expect(scheme).toMatchObject({ exitCode: 1, errors: expect.stringContaining('such as http://') });
    expect(await printed(['whoami'], { GOVERNANCE_URL: `${app.url}/api/v1/` })).toContain('scopes:');
    expect((await gov(['whoami'], { GOVERNANCE_URL: '' })).errors).toContain('got "".');
    for (const words of [
      ['grants', '--agent'],
      ['executions', '--agent-id'],
      ['audit', '--agent-id'],
      ['draft', '--agent'],
    ])
      expect(await gov([...words, 'no\u001bbody'])).toMatchObject({
        exitCode: 1,
        output: '',
        errors: 'There is no agent with the id or name no\\u001bbody.\n',
      });
    expect(await printed(['grants', '--agent', people.ann.name])).toBe('Nothing.\n');
    const { errors } = await gov(['events', '--after', 'x']);
    expect(errors.match(/sequence of an entry/g)).toHaveLength(1);
    const { errors: faulty } = await gov(['audit', '--from', 'yesterday']);
    expect(faulty.match(/must be an RFC 3339 time/g)).toHaveLength(1);
  });
});

/** The names of the commands, or the long names of the options, that a help text lists. */
function namedIn(help: string, what: string): string[] {
  const pattern = what === 'commands' ? /^ {2}([a-z][\w-]*)(?= |$)/gm : /^ {2}(?:-\w, )?(--[\w-]+)/gm;
  const start = help.indexOf(what === 'commands' ? '\nCommands:' : '\nOptions:');
  return [...help.slice(start).matchAll(pattern)].map(([, name = '']) => name).filter((name) => name !== 'help');
}
