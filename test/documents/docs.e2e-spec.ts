import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { AGENT } from '../../src/agents/agent.kind';
import { API_KEY } from '../../src/api-keys/api-key.kind';
import { RESTORATION } from '../../src/checkpoints/restoration.kind';
import { VARIABLES } from '../../src/config/variables/variables';
import { DECISION } from '../../src/decisions/decision.kind';
import { CLAIM } from '../../src/entities/claim.kind';
import { ENTITY } from '../../src/entities/entity.kind';
import { DENIAL_REASONS, ERRORS } from '../../src/errors/error-codes';
import { EXECUTION } from '../../src/executions/execution.kind';
import { POLICY } from '../../src/policies/policy.kind';
import { WEBHOOK } from '../../src/webhooks/webhook.kind';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import {
  codeBlocks,
  codeSpans,
  documentPaths,
  filesBelow,
  readDocument,
  ROOT,
  section,
  tableRows,
  withoutCode,
} from '../support/documents/markdown';
import { run, runBlocks } from '../support/processes/shell';
import { differences, shownAnswers } from '../support/application/shown-answers';
import { sourceTexts } from './sources';

const README = readDocument('README.md');
const RULES = readDocument('docs/api-decisions.md');
const README_URL = 'http://localhost:3000';
const README_KEY = 'a-key-for-the-first-five-minutes';

describe('The first five minutes of the README', () => {
  const blocks = codeBlocks(section(README, '## The first five minutes'));
  const commands = blocks.filter(({ language }) => language === 'sh').map(({ code }) => code);
  let app: TestApp;
  let printed: string[];

  beforeAll(async () => {
    app = await createTestApp({ environment: { API_KEY: README_KEY, RATE_LIMIT: '100' } });
    printed = await runBlocks(commands.map((code) => code.replace(README_URL, app.url)));
  });
  afterAll(() => app.close());

  const shown = blocks.flatMap(({ language, code }, index) =>
    language === 'json' ? [{ answers: code, command: blocks[index - 1]?.code ?? '' }] : [],
  );

  it('begins by starting the service with the key that the commands use', () => {
    expect(blocks[0]?.code).toBe(`API_KEY=${README_KEY} npm start\n`);
    expect(commands[0]).toContain(`API_KEY=${README_KEY} API=${README_URL}/api/v1`);
  });

  it.each(shown)('answers as shown to $command', ({ answers, command }) => {
    const actual = printed[commands.indexOf(command)] ?? '';
    const answered = actual.trim().split('\n');
    const expected = shownAnswers(answers);
    expect(answered).toHaveLength(expected.length);
    const found = answered.flatMap((line, index) => differences(JSON.parse(line), expected[index]));
    expect(found).toEqual([]);
  });
});

describe('The script that recomputes the chain', () => {
  const code = codeBlocks(section(RULES, '### Recomputing the chain')).find(({ language }) => language === 'js')?.code;
  let app: TestApp;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'verify-chain-'));
    writeFileSync(join(folder, 'verify-chain.mjs'), code ?? '');
    app = await createTestApp({ environment: { API_KEY: README_KEY } });
    const commands = codeBlocks(section(README, '## The first five minutes')).filter(
      (block) => block.language === 'sh',
    );
    await runBlocks(commands.map((block) => block.code.replace(README_URL, app.url)));
  });
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });

  it('finds every hash of a real chain correct', async () => {
    const environment = { API: `${app.url}/api/v1`, API_KEY: README_KEY };
    const { output, errors } = await run(process.execPath, [join(folder, 'verify-chain.mjs')], { environment });
    expect(errors).toBe('');
    expect(output).toMatch(/^17 entries, 0 at fault, head [0-9a-f]{64}\n$/);
  });
});

describe('Tables', () => {
  it('of the README list every variable with its default and meaning', () => {
    const expected = Object.values(VARIABLES).map((variable) => [
      `\`${variable.name}\``,
      variable.default === '' ? '' : `\`${variable.default}\``,
      variable.description,
    ]);
    expect(tableRows(section(README, '## Configuration'))).toEqual(expected);
  });

  it('of the rules list every error code with its status, and every reason', () => {
    const rows = tableRows(section(RULES, '## Errors'));
    const codes = rows.filter(([, status = '']) => /^\d+$/.test(status));
    const reasons = rows.filter(([, status = '']) => !/^\d+$/.test(status));
    expect(codes.map(([code, status]) => [code, Number(status)])).toEqual(
      Object.entries(ERRORS).map(([code, { status }]) => [`\`${code}\``, status]),
    );
    expect(reasons.map(([reason]) => reason).sort()).toEqual(DENIAL_REASONS.map((reason) => `\`${reason}\``).sort());
  });

  it('of the rules list the hashed members of every kind, which are frozen', () => {
    const rows = tableRows(section(RULES, '### What is hashed'));
    const listed = Object.fromEntries(
      rows.map(([kind = '', members = '']) => [kind, codeSpans(members.replace(/\([^)]*\)/g, ''))]),
    );
    for (const kind of [ENTITY, CLAIM, AGENT, DECISION, POLICY, EXECUTION, API_KEY, WEBHOOK, RESTORATION]) {
      expect(listed[kind.subjectType]).toEqual(kind.hashedMembers);
      for (const [member, unset] of Object.entries(kind.laterMembers ?? {}))
        expect(listed[`${kind.subjectType} \`${member}\``]).toEqual([JSON.stringify(unset)]);
    }
  });

  it('of the rules list every audit action', () => {
    const actions =
      /'((?:entity|claim|agent|execution|decision|policy|api_key|webhook(?!\.test)|access)\.[a-z_]+|ledger\.restored)'/g;
    const used = sourceTexts().flatMap((text) => [...text.matchAll(actions)].map(([, action = '']) => `\`${action}\``));
    const listed = tableRows(section(RULES, '## Audit')).flatMap(([first = '']) =>
      first.includes('.') ? [first] : [],
    );
    expect([...listed].sort()).toEqual([...new Set(used)].sort());
  });
});

describe.each(documentPaths())('%s', (path) => {
  const text = readDocument(path);

  it('links to files and headings that exist', () => {
    const links = [...withoutCode(text).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
    const broken = links.filter(([, file = '', anchor]) => {
      const target = file === '' ? path : join(dirname(path), file);
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && !anchors(readDocument(target)).includes(anchor);
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  it('names files that exist', () => {
    const isPath = /^(?:src|test|docs|scripts|bench)\/[\w./-]+$/;
    const built = path === 'docs/extending.md' ? /^src\/incidents\// : /^$/;
    const named = codeSpans(text).filter((span) => isPath.test(span) && !built.test(span));
    expect(named.filter((span) => !existsSync(join(ROOT, span)))).toEqual([]);
  });

  it('names scripts and tests that can be run', () => {
    const { scripts } = JSON.parse(readDocument('package.json')) as { scripts: Record<string, string> };
    const unknown = [...text.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].filter(
      ([, name = '']) => !(name in scripts),
    );
    const tests = [...filesBelow('test'), ...filesBelow('src')].filter((file) => /[.-]spec\.ts$/.test(file));
    const missing = [...text.matchAll(/npx jest ((?:test|src)\/[\w./-]+)/g)].filter(
      ([, place = '']) => !tests.some((file) => file.startsWith(place)),
    );
    expect([...unknown, ...missing].map(([command]) => command)).toEqual([]);
  });
});

describe('CONTRIBUTING.md', () => {
  it('shows a first test that is run with the others', () => {
    const [shown] = codeBlocks(section(readDocument('CONTRIBUTING.md'), '### Your first test'));
    expect(shown?.code).toBe(readDocument('test/documents/your-first-test.e2e-spec.ts'));
  });
});

/** The anchors that GitHub generates from headings. */
function anchors(document: string): string[] {
  const headings = [...withoutCode(document).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
