import { join } from 'node:path';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { differences, shownAnswers } from '../../support/application/shown-answers';
import { codeBlocks, readDocument, ROOT } from '../../support/documents/markdown';
import { run, runBlocks } from '../../support/processes/shell';
import { startProgram } from '../../support/processes/started-program';

const URL = 'http://localhost:3000';
const KEY = 'a-key-for-the-first-five-minutes';

describe('The first five minutes', () => {
  const blocks = codeBlocks(readDocument('docs/first-five-minutes.md'));
  const commands = blocks.filter(({ language }) => language === 'sh').map(({ code }) => code);
  let app: TestApp;
  let printed: string[];

  beforeAll(async () => {
    app = await createTestApp({ environment: { API_KEY: KEY, RATE_LIMIT: '100' } });
    printed = await runBlocks(commands.map((code) => code.replace(URL, app.url)));
  });
  afterAll(() => app.close());

  const examples = blocks.flatMap(({ language, code }, index) =>
    language === 'json' ? [{ answers: code, command: blocks[index - 1]?.code ?? '' }] : [],
  );

  it('begins by starting the service with the key that the commands use', () => {
    expect(blocks[0]?.code).toBe(`API_KEY=${KEY} npm start\n`);
    expect(commands[0]).toContain(`API_KEY=${KEY} API=${URL}/api/v1`);
  });

  it.each(examples)('answers as shown to $command', ({ answers, command }) => {
    const actual = printed[commands.indexOf(command)] ?? '';
    const responses = actual.trim().split('\n');
    const expected = shownAnswers(answers);
    expect(responses).toHaveLength(expected.length);
    const mismatches = responses.flatMap((line, index) => differences(JSON.parse(line), expected[index]));
    expect(mismatches).toEqual([]);
  });

  it('leaves a chain of which the script of the rules finds every hash correct', async () => {
    const script = join(ROOT, 'examples', 'verify-chain.mjs');
    const environment = { API: `${app.url}/api/v1`, API_KEY: KEY };
    const { output, errors } = await run(process.execPath, [script], { environment });
    expect(errors).toBe('');
    expect(output).toMatch(/^17 entries, 0 at fault, head [0-9a-f]{64}\n$/);
  });
});

describe('The banner of the built program', () => {
  it.each(['', 'the-key-of-these-tests-0123456789'])(
    'shows commands of which one is allowed and one denied, with API_KEY=%s',
    async (apiKey) => {
      const program = await startProgram(join(ROOT, 'dist', 'main.js'), { API_KEY: apiKey });
      const printed = program.printed();
      const commands = printed.split('\n').filter((line) => /^(key=|post)/.test(line));
      const [output = ''] = await runBlocks([[`API_KEY=${apiKey}`, ...commands].join('\n')]);
      await program.stop();
      const [, , allowed, denied] = output
        .trim()
        .split('\n')
        .map((line: string) => JSON.parse(line));
      expect(allowed).toMatchObject({ outcome: 'authorized' });
      expect(denied).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
      const printedKey = /^ *API key +(\S+) \(for this run only/m.exec(printed)?.[1];
      expect(commands[0]).toBe(apiKey === '' ? `key=${printedKey}` : 'key="$API_KEY"');
      if (apiKey !== '') expect(printed).not.toContain(apiKey);
    },
  );
});
