import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { approve, company, EXECUTIONS, resume, type Company } from '../../approvals/support';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { codeBlocks, readDocument, section } from '../../support/documents/markdown';
import { send } from '../../support/application/send';
import { run, type ProgramRun } from '../../support/processes/shell';
import { buildCommandLine } from '../command-line';
import { GOV } from '../mcp/mcp-clients';

const [DENIED, LET_GO, BLOCKED] = ['deny', '', 2];
const COMMAND = 'gov hook claude-code || exit 2';

describeOnSqlite('gov hook claude-code', () => {
  let app: TestApp;
  let people: Company;
  let folder: string;
  let environment: NodeJS.ProcessEnv;
  let agentId: string;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp();
    people = await company(app);
    folder = mkdtempSync(join(tmpdir(), 'gov-hook-'));
    agentId = (await createAgent(app, { name: 'coder', capabilities: ['Read', 'Bash', 'WebFetch'] })).id;
    const { secret } = await issueKey(app, { name: 'coder', scopes: ['execute'], agentId });
    environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret, XDG_STATE_HOME: folder };
    const own = { resources: ['tool/claude-code/*'], resourceTypes: ['tool'] };
    await createPolicy(app, { ...own, actions: ['Read'] });
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    await createPolicy(app, { ...own, effect: 'require_approval', actions: ['Bash'], approval });
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  /** An event as the reference of Claude Code's hooks shows it. */
  function event(name: string, tool: string, input: object, id: string, members: object = {}): string {
    return JSON.stringify({
      session_id: 'abc123',
      transcript_path: '/home/user/.claude/projects/shop/00893aaf.jsonl',
      cwd: '/home/user/shop',
      permission_mode: 'default',
      hook_event_name: name,
      tool_name: tool,
      tool_input: input,
      tool_use_id: id,
      ...members,
    });
  }

  function hook(input: string, others: NodeJS.ProcessEnv = {}, words: string[] = []): Promise<ProgramRun> {
    const all = { ...environment, ...others };
    return run(process.execPath, [GOV, 'hook', 'claude-code', ...words], { environment: all, input });
  }

  /** Its answer before a tool is used: nothing, or a decision with a reason. */
  async function before(input: string, others: NodeJS.ProcessEnv = {}): Promise<{ decision: string; reason: string }> {
    const { exitCode, output, errors } = await hook(input, others);
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
    if (output === '') return { decision: LET_GO, reason: '' };
    const { hookSpecificOutput } = JSON.parse(output);
    expect(hookSpecificOutput.hookEventName).toBe('PreToolUse');
    return { decision: hookSpecificOutput.permissionDecision, reason: hookSpecificOutput.permissionDecisionReason };
  }

  async function executionsFor(action: string): Promise<{ id: string; decisionId: string }[]> {
    return (await send(app, 'GET', `${EXECUTIONS}?agentId=${agentId}&action=${action}`)).body.data;
  }

  it('lets an allowed call proceed without skipping questions to the user, and reports its outcome', async () => {
    const input = { file_path: '/home/user/shop/README.md' };
    expect(await before(event('PreToolUse', 'Read', input, 'toolu_01'))).toEqual({ decision: LET_GO, reason: '' });
    expect(await executionsFor('Read')).toEqual([
      expect.objectContaining({ outcome: 'authorized', parameters: input }),
    ]);
    const after = event('PostToolUse', 'Read', input, 'toolu_01', { tool_response: { lines: 7 } });
    expect(await hook(after)).toEqual({ exitCode: 0, output: '', errors: '' });
    expect(await executionsFor('Read')).toEqual([
      expect.objectContaining({ outcome: 'executed', result: { lines: 7 } }),
    ]);
    expect(await hook(after)).toEqual({ exitCode: 0, output: '', errors: '' });
    expect(readdirSync(join(folder, 'agent-governance', 'hooks'))).toEqual([]);
  });

  it('reports a tool that failed', async () => {
    await before(event('PreToolUse', 'Read', { file_path: 'none' }, 'toolu_02'));
    await hook(event('PostToolUseFailure', 'Read', { file_path: 'none' }, 'toolu_02', { error: 'No such file.' }));
    const failed = { outcome: 'failed', failureReason: 'No such file.' };
    expect(await executionsFor('Read')).toContainEqual(expect.objectContaining(failed));
  });

  it('says when nobody could approve it', async () => {
    const approval = { approvers: [{ subjects: ['role:board'] }] };
    const conditions = [{ parameter: '/url', op: 'eq', value: 'https://board.example' }];
    await createPolicy(app, { effect: 'require_approval', actions: ['WebFetch'], approval, conditions });
    const { reason } = await before(event('PreToolUse', 'WebFetch', { url: 'https://board.example' }, 'toolu_20'));
    expect(reason).toContain('It still needs 1 of role:board. Nobody, or too few, could approve it');
  });

  it('denies while an approval is pending, lets the call proceed once after it, and never asks the user', async () => {
    const command = { command: 'npm publish', description: 'Publish the package' };
    for (const id of ['toolu_03', 'toolu_04']) {
      const { decision, reason } = await before(event('PreToolUse', 'Bash', command, id));
      expect([decision, reason]).toEqual([DENIED, expect.stringMatching(/^Approval pending.*npm publish.*because of/)]);
    }
    const [only, ...others] = await executionsFor('Bash');
    expect(others).toEqual([]);
    await approve(app, only?.decisionId ?? null, people.ann);
    expect((await before(event('PreToolUse', 'Bash', { command: 'npm unpublish' }, 'toolu_05'))).decision).toBe(DENIED);
    expect((await before(event('PreToolUse', 'Bash', command, 'toolu_06'))).decision).toBe(LET_GO);
    expect((await resume(app, String(only?.id))).status).toBe(409);
    expect((await before(event('PreToolUse', 'Bash', command, 'toolu_07'))).decision).toBe(DENIED);
  });

  it('reports each of several equal calls that have no id', async () => {
    const input = { file_path: 'equal' };
    const nameless = (name: string, members: object = {}): string =>
      event(name, 'Read', input, '', { ...members, tool_use_id: undefined });
    for (let uses = 0; uses < 2; uses += 1) await before(nameless('PreToolUse'));
    for (let uses = 0; uses < 2; uses += 1) await hook(nameless('PostToolUse', { tool_response: { lines: uses } }));
    const reported = (await executionsFor('Read')).filter(
      (one) => 'parameters' in one && isDeepStrictEqual(one.parameters, input),
    );
    expect(reported).toEqual([0, 1].map(() => expect.objectContaining({ outcome: 'executed' })));
  });

  it('reports each of eight equal calls whose hooks run at the same time', async () => {
    const input = { file_path: 'equal and at once' };
    const uses = Array.from({ length: 8 }, (_, lines) => lines);
    const nameless = (name: string, members: object = {}): string =>
      event(name, 'Read', input, '', { ...members, tool_use_id: undefined });
    await Promise.all(uses.map(() => before(nameless('PreToolUse'))));
    const after = uses.map((lines) => hook(nameless('PostToolUse', { tool_response: { lines } })));
    for (const one of await Promise.all(after)) expect(one).toEqual({ exitCode: 0, output: '', errors: '' });
    const { data } = (await send(app, 'GET', `${EXECUTIONS}?agentId=${agentId}&action=Read&limit=1000`)).body;
    const results = data.flatMap(({ parameters, result }: { parameters: object; result: { lines: number } | null }) =>
      isDeepStrictEqual(parameters, input) ? [result?.lines] : [],
    );
    expect(results.sort((left: number, right: number) => left - right)).toEqual(uses);
  });

  it('keeps what could not be reported, and reports it after the next tool', async () => {
    const storedFiles = (): string[] => readdirSync(join(folder, 'agent-governance', 'hooks'));
    const [first, second] = [{ file_path: 'one' }, { file_path: 'two' }];
    await before(event('PreToolUse', 'Read', first, 'toolu_11'));
    const { length } = storedFiles();
    const after = event('PostToolUse', 'Read', first, 'toolu_11', { tool_response: { lines: 1 } });
    const away = await hook(after, { GOVERNANCE_URL: 'http://127.0.0.1:9' }, ['--timeout', '1']);
    expect(away).toMatchObject({ exitCode: BLOCKED, errors: expect.stringContaining('Do not repeat the action.') });
    expect(away.errors).not.toContain('does not run');
    expect(storedFiles()).toHaveLength(length);
    await before(event('PreToolUse', 'Read', second, 'toolu_12'));
    await hook(event('PostToolUse', 'Read', second, 'toolu_12', { tool_response: { lines: 2 } }));
    for (const [parameters, lines] of [
      [first, 1],
      [second, 2],
    ] as const) {
      expect(await executionsFor('Read')).toContainEqual(
        expect.objectContaining({ parameters, outcome: 'executed', result: { lines } }),
      );
    }
    expect(storedFiles()).toHaveLength(length - 1);
  });

  it("keeps what could not be reported from other agents' hooks, and from those at other services", async () => {
    const input = { file_path: 'three' };
    await before(event('PreToolUse', 'Read', input, 'toolu_21'));
    const after = event('PostToolUse', 'Read', input, 'toolu_21', { tool_response: { lines: 3 } });
    await hook(after, { GOVERNANCE_URL: 'http://127.0.0.1:9' }, ['--timeout', '1']);
    const elsewhere = await createTestApp();
    for (const there of [app, elsewhere]) {
      const agent = await createAgent(there, { name: 'another coder', capabilities: ['Read'] });
      if (there === elsewhere) await createPolicy(there, { actions: ['Read'] });
      const { secret } = await issueKey(there, { name: 'another', scopes: ['execute'], agentId: agent.id });
      const others = { GOVERNANCE_URL: there.url, GOVERNANCE_API_KEY: secret };
      expect((await before(event('PreToolUse', 'Read', input, 'toolu_22'), others)).decision).toBe(LET_GO);
      expect(await hook(event('PostToolUse', 'Read', input, 'toolu_22'), others)).toMatchObject({ exitCode: 0 });
    }
    await elsewhere.close();
    await before(event('PreToolUse', 'Read', {}, 'toolu_23'));
    await hook(event('PostToolUse', 'Read', {}, 'toolu_23'));
    expect(await executionsFor('Read')).toContainEqual(
      expect.objectContaining({ parameters: input, outcome: 'executed', result: { lines: 3 } }),
    );
  });

  it('forgets what its user refused long ago, but nothing that is to be reported', async () => {
    const place = join(folder, 'agent-governance', 'hooks');
    const keptSince = async (input: string): Promise<string> => {
      const earlier = readdirSync(place);
      await before(input);
      const [name = ''] = readdirSync(place).filter((one) => !earlier.includes(one));
      return name;
    };
    const read = (id: string): string => event('PreToolUse', 'Read', { file_path: id }, id);
    const [refused, ran, recent] = [
      await keptSince(read('toolu_31')),
      await keptSince(read('toolu_32')),
      await keptSince(read('toolu_33')),
    ];
    const after = event('PostToolUse', 'Read', { file_path: 'toolu_32' }, 'toolu_32');
    await hook(after, { GOVERNANCE_URL: 'http://127.0.0.1:9' }, ['--timeout', '1']);
    // It has another name since its tool has run.
    const [renamedFile = ''] = readdirSync(place).filter((name) => name.startsWith(ran));
    const longAgo = new Date(Date.now() - 31 * 24 * 60 * 60_000);
    for (const name of [refused, renamedFile]) utimesSync(join(place, name), longAgo, longAgo);
    await before(read('toolu_34'));
    expect(readdirSync(place)).toEqual(expect.arrayContaining([renamedFile, recent]));
    expect(readdirSync(place)).not.toContain(refused);
  });

  it('explains a denial', async () => {
    const { decision, reason } = await before(
      event('PreToolUse', 'WebFetch', { url: 'https://a.example' }, 'toolu_08'),
    );
    expect([decision, reason]).toEqual([DENIED, expect.stringContaining('no_policy_allows')]);
  });

  it.each(['12345678901234567890', '1e20', '-9007199254740993', '1e999'])(
    'denies a call with a number that may have changed on its way: %s',
    async (literal) => {
      const earlier = (await executionsFor('Read')).length;
      const input = event('PreToolUse', 'Read', { offset: [{ line: 'NUMBER' }] }, 'toolu_41');
      const { decision, reason } = await before(input.replace('"NUMBER"', literal));
      const message = 'arguments.offset[0].line is a number that would change silently';
      expect([decision, reason]).toEqual([DENIED, expect.stringContaining(message)]);
      expect(await executionsFor('Read')).toHaveLength(earlier);
    },
  );

  it('blocks every call that it cannot ask about', async () => {
    const usual = event('PreToolUse', 'Read', {}, 'toolu_09');
    const away = await before(usual, { GOVERNANCE_URL: 'http://127.0.0.1:9' });
    expect([away.decision, away.reason]).toEqual([DENIED, expect.stringContaining('does not answer')]);
    const nobody = { GOVERNANCE_API_KEY: '', XDG_CONFIG_HOME: folder };
    expect(await hook(usual, nobody)).toMatchObject({
      exitCode: BLOCKED,
      errors: expect.stringContaining('gov login'),
    });
    expect(await hook(usual, { GOVERNANCE_API_KEY: API_KEY })).toMatchObject({
      exitCode: BLOCKED,
      errors: expect.stringContaining('Give this hook the key of its agent: gov keys issue'),
    });
    for (const text of ['{"tool_name"', 'null', '"PreToolUse"'])
      expect(await hook(text)).toMatchObject({ exitCode: BLOCKED, errors: expect.stringContaining('not the JSON') });
    const other = await hook(event('SessionStart', 'Read', {}, 'toolu_10'));
    expect(other).toMatchObject({ exitCode: BLOCKED, errors: expect.stringContaining('SessionStart') });
    expect(await hook(usual, {}, ['--unheard-of'])).toMatchObject({ exitCode: BLOCKED });
    expect(await hook(usual, {}, ['--map', 'nowhere.json'])).toMatchObject({ exitCode: BLOCKED });
  });

  it.each([
    ['hook', 'claude-cod'],
    ['hook'],
    ['hook', '--unheard-of', 'claude-code'],
    ['--unheard-of', 'hook', 'claude-code'],
    ['--unheard-of', 'value', 'hook', 'claude-code'],
    ['hok', 'claude-code'],
  ])('blocks where its command line is misspelt: gov %s %s %s', async (...words) => {
    const misspelt = run(process.execPath, [GOV, ...words.filter(Boolean)], { environment, input: '{}' });
    expect((await misspelt).exitCode).toBe(BLOCKED);
  });

  it('blocks where nobody reads its denial', async () => {
    const program = spawn(process.execPath, [GOV, 'hook', 'claude-code'], { env: { ...process.env, ...environment } });
    program.stdout.destroy();
    program.stdin.end(event('PreToolUse', 'WebFetch', { url: 'https://a.example' }, 'toolu_51'));
    expect((await once(program, 'close'))[0]).toBe(BLOCKED);
  });

  it('ends as any other command does where it is not meant', async () => {
    for (const [words, exitCode] of [
      [['hook', '--help'], 0],
      [['--unheard-of'], 1],
      [['explain', 'claude-code'], 1],
    ] as const) {
      expect(await run(process.execPath, [GOV, ...words], { environment })).toMatchObject({ exitCode });
    }
  });

  it('is configured as docs/integrations.md and its help show', async () => {
    const [block] = codeBlocks(section(readDocument('docs/integrations.md'), '## Claude Code'));
    const { output } = await run(process.execPath, [GOV, 'hook', 'claude-code', '--help']);
    const entry = [{ matcher: '*', hooks: [{ type: 'command', command: COMMAND }] }];
    const hooks = { PreToolUse: entry, PostToolUse: entry, PostToolUseFailure: entry };
    expect(JSON.parse(block?.code ?? '')).toEqual({ hooks });
    expect(JSON.parse(output.slice(output.indexOf('{')))).toEqual({ hooks });
  });

  it('blocks, as it is configured, also where gov is missing, killed or out of memory', async () => {
    const place = mkdtempSync(join(folder, 'path-'));
    const programs = {
      missing: null,
      killed: 'kill -9 $$',
      'out of memory': `exec "${process.execPath}" --max-old-space-size=10 "${GOV}" "$@"`,
      well: `exec "${process.execPath}" "${GOV}" "$@"`,
    };
    const exitCodes: Record<string, number | null> = {};
    for (const [how, program] of Object.entries(programs)) {
      if (program !== null) writeFileSync(join(place, 'gov'), `#!/bin/sh\n${program}\n`, { mode: 0o755 });
      const input = event('PreToolUse', 'Read', { file_path: how === 'well' ? 'a' : 'a'.repeat(40_000_000) }, how);
      const PATH = `${place}:/usr/bin:/bin`;
      exitCodes[how] = (await run('sh', ['-c', COMMAND], { environment: { ...environment, PATH }, input })).exitCode;
    }
    expect(exitCodes).toEqual({ missing: BLOCKED, killed: BLOCKED, 'out of memory': BLOCKED, well: 0 });
  });
});
