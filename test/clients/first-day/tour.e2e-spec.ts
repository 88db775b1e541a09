import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { createAgent } from '../../support/application/factories';
import { run } from '../../support/processes/shell';
import { buildCommandLine, gov, MAIN } from '../command-line';

/** Lets a program think that it is on a terminal. */
const hasScript = String(spawnSync('script', ['--version']).stdout).includes('util-linux');
if (!hasScript) process.stdout.write('SKIPPED: what gov does on a terminal needs the program script of util-linux.\n');

describeOnSqlite('What gov shows to a newcomer', () => {
  let home: string;
  let temporary: string;
  let environment: NodeJS.ProcessEnv;

  beforeAll(async () => {
    await buildCommandLine();
    home = mkdtempSync(join(tmpdir(), 'gov-home-'));
    temporary = join(home, 'tmp');
    mkdirSync(temporary);
    const nobody = { GOVERNANCE_URL: undefined, GOVERNANCE_API_KEY: undefined };
    environment = { ...nobody, XDG_CONFIG_HOME: home, TMPDIR: temporary };
  });
  afterAll(() => {
    rmSync(home, { recursive: true });
  });
  afterEach(() => {
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('gives the tour on a separate service, and leaves nothing behind', async () => {
    const { exitCode, output, errors } = await gov(['tour'], { environment });
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
    expect(output).not.toContain('must not happen');
    const texts = ['no_policy_allows', 'in her inbox: invoice-bot: refund', '80 are refunded', 'execution.resumed'];
    expect(output).toMatch(/execution\.approved +by key_\w{26} \(ann\)$/m);
    for (const text of [...texts, 'VALID, 18 entries', 'INVALID, 18 entries']) expect(output).toContain(text);
  });

  /** The exit code of a tour that is ended once it has said something, and what it has said. */
  async function endedTour(
    [command, ...words]: readonly [string, ...string[]],
    cue: string,
    end: (program: ChildProcessWithoutNullStreams) => void,
  ): Promise<{ exitCode: unknown; output: string }> {
    const program = spawn(command, words, { env: { ...process.env, ...environment }, stdio: 'pipe' });
    let output = '';
    for (const stream of [program.stdout, program.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        const hadCue = output.includes(cue);
        output += text;
        if (!hadCue && output.includes(cue)) end(program);
      });
    }
    const [exitCode] = await once(program, 'close');
    return { exitCode, output };
  }

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('leaves nothing behind if it is ended by %s', async (signal, expected) => {
    const tour = [process.execPath, MAIN, 'tour'] as const;
    const { exitCode, output } = await endedTour([...tour], '2. What the rules are', (program) => program.kill(signal));
    expect([exitCode, output]).toEqual([expected, expect.not.stringContaining('9. Nobody alters it')]);
  });

  it('leaves nothing behind if its reader has seen enough', async () => {
    const tour = [process.execPath, MAIN, 'tour'] as const;
    const { exitCode, output } = await endedTour([...tour], '2. What the rules are', ({ stdout }) => stdout.destroy());
    expect([exitCode, output]).toEqual([0, expect.not.stringContaining('Error')]);
  });

  (hasScript ? it : it.skip)('ends in silence where somebody types Ctrl-C instead of Enter', async () => {
    const line = ['script', '-qec', `'${process.execPath}' '${MAIN}' tour`, '/dev/null'] as const;
    const { exitCode, output } = await endedTour([...line], '[Enter]', ({ stdin }) => void stdin.write('\u0003'));
    expect([exitCode, output]).toEqual([130, expect.not.stringMatching(/Error|2\. What the rules are/)]);
  });

  describe('of a service', () => {
    let app: TestApp;

    beforeAll(async () => {
      app = await createTestApp();
      environment = { ...environment, GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY };
    });
    afterAll(() => app.close());

    it('alters a byte of a copy, and verification finds it', async () => {
      const empty = await gov(['tamper'], { environment });
      expect(empty).toMatchObject({ exitCode: 1, errors: expect.stringContaining('gov seed') });
      await createAgent(app, { name: 'bot' });
      const { exitCode, output } = await gov(['tamper'], { environment });
      expect(exitCode).toBe(0);
      expect(output).toMatch(
        / VALID, 1 entries[^]*line 1:\n {2}- "timestamp":"2[^]* {2}chain: entry 1: [^]*INVALID, 1 entries/,
      );
    });
  });

  it.each([
    ['', 'sea', ''],
    ['', 'see', 'seed'],
    ['keys', 'is', 'issue'],
    ['keys issue', '--ex', '--expires-at'],
    ['show dec_1', '--h', '--help'],
  ])('completes in bash: gov %s %s', async (before, here, expected) => {
    const { output } = await gov(['completion', 'bash'], { environment });
    const script = join(home, 'completion.sh');
    writeFileSync(script, output);
    const words = ['gov', ...before.split(' ').filter((word) => word !== ''), here];
    const completionScript = `. "$0"; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _gov; echo "\${COMPREPLY[*]}"`;
    expect(await run('bash', ['-c', completionScript, script])).toEqual({
      exitCode: 0,
      output: `${expected}\n`,
      errors: '',
    });
  });

  it('completes commands in three shells', async () => {
    expect(await gov(['completion', 'zsh'], { environment })).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining('bashcompinit'),
    });
    expect(await gov(['completion', 'fish'], { environment })).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining('complete -c gov'),
    });
    expect(await gov(['completion', 'tcsh'], { environment })).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('bash, fish, zsh'),
    });
  });
});
