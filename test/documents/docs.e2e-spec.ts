import { erasureAction } from '../../src/ledger/chain/stored-entry';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AGENT } from '../../src/governance/agents/agent.entity';
import { API_KEY } from '../../src/governance/api-keys/api-key.entity';
import { RESTORATION } from '../../src/evidence/checkpoints/restorations';
import { VARIABLES } from '../../src/core/config/variables/variables';
import { DECISION } from '../../src/governance/decisions/decision.entity';
import { CLAIM } from '../../src/governance/entities/claim.entity';
import { ENTITY } from '../../src/governance/entities/governed-entity.entity';
import { DENIAL_REASONS, ERRORS } from '../../src/core/errors/error-codes';
import { EXECUTION } from '../../src/governance/executions/execution.entity';
import { POLICY } from '../../src/governance/policies/policy.entity';
import { STOP } from '../../src/governance/stops/stop.entity';
import { ERASURE } from '../../src/evidence/erasures/erasure.entity';
import { WEBHOOK } from '../../src/evidence/webhooks/webhook.entity';
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
import { sourceTexts } from './sources';

const RULES = readDocument('docs/api-decisions.md');

describe('Tables', () => {
  it('of the settings list every variable with its default and meaning', () => {
    const expected = Object.values(VARIABLES).map((variable) => [
      `\`${variable.name}\``,
      variable.default === '' ? '' : `\`${variable.default}\``,
      variable.description,
    ]);
    expect(tableRows(readDocument('docs/settings.md'))).toEqual(expected);
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
    for (const kind of [
      ENTITY,
      CLAIM,
      AGENT,
      DECISION,
      POLICY,
      EXECUTION,
      API_KEY,
      WEBHOOK,
      STOP,
      ERASURE,
      RESTORATION,
    ]) {
      expect(listed[kind.subjectType]).toEqual(kind.hashedMembers);
      for (const [member, unset] of Object.entries(kind.laterMembers ?? {}))
        expect(listed[`${kind.subjectType} \`${member}\``]).toEqual([JSON.stringify(unset)]);
    }
  });

  it('of the rules list every audit action', () => {
    const actions =
      /'((?:entity|claim|agent|delegation|execution|decision|policy|api_key|webhook(?!\.test)|access|erasure|grant|passkey|stop)\.[a-z_]+|ledger\.restored)'/g;
    const written = sourceTexts().flatMap((text) => [...text.matchAll(actions)].map(([, action = '']) => action));
    // The ledger makes this action from the kind of any record.
    const used = [...written, erasureAction('entity')].map((action) => `\`${action}\``);
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
    const paths = codeSpans(text).filter((span) => isPath.test(span) && !built.test(span));
    expect(paths.filter((span) => !existsSync(join(ROOT, span)))).toEqual([]);
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
    const [block] = codeBlocks(section(readDocument('CONTRIBUTING.md'), '### Your first test'));
    expect(block?.code).toBe(readDocument('test/documents/your-first-test.e2e-spec.ts'));
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
