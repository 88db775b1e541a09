import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AGENT } from '../../src/governance/agents/agent.entity';
import { DECISION } from '../../src/governance/decisions/decision.entity';
import { DELEGATION } from '../../src/governance/delegations/delegation.entity';
import { GRANT } from '../../src/governance/decisions/grants/grant.entity';
import { CLAIM } from '../../src/governance/entities/claim.entity';
import { EXECUTION } from '../../src/governance/executions/execution.entity';
import { PASSKEY } from '../../src/governance/passkeys/passkey.entity';
import { POLICY } from '../../src/governance/policies/policy.entity';
import { STOP } from '../../src/governance/stops/stop.entity';
import { stageOf } from '../support/application/stage';
import { everyKindOfFile } from './every-kind-of-file';
import { forge } from './forged-file';
import { noteSeen, type Row, rowsOf } from './forgers-table';
import { SeenValues } from './other-values';
import { runProgram } from './run-program';

/**
 * `FORGERS_TABLE=all` tries every value in every file, and otherwise one of each member of each action, and its
 * removal.
 */
const IN_FULL = process.env['FORGERS_TABLE'] === 'all';
const KINDS = [AGENT, CLAIM, DECISION, DELEGATION, EXECUTION, GRANT, PASSKEY, POLICY, STOP];
const FORMS = Object.fromEntries(
  KINDS.map(({ subjectType, hashedMembers, laterMembers = {} }) => [
    subjectType,
    { members: hashedMembers, later: Object.keys(laterMembers) },
  ]),
);
/** Records that decide: another value counts only where it decides something. All else follows from them. */
const PREMISES = ['agent', 'claim', 'delegation', 'passkey', 'policy', 'rules', 'stop'];
const MOST_SHOWN = 30;
/** Milliseconds: in full, tens of thousands of files are verified. */
const TIMEOUT = IN_FULL ? 3_600_000 : 900_000;

/** The member of a record that a path leads into. */
function memberOf(path: string): string {
  return path.split(/[.[]/u).slice(0, 2).join('.');
}

function isPremise({ path }: Row): boolean {
  return PREMISES.includes(path.split('.')[0] ?? '');
}

describe('A forger with the signing key', () => {
  const stage = stageOf(everyKindOfFile);

  it(
    'changes no member of any record unnoticed, except what the verifier says that it only attests',
    async () => {
      const { app, files, publicKey } = stage;
      const folder = mkdtempSync(join(tmpdir(), 'forger-'));
      const path = join(folder, 'files');
      const verify = async (lines: readonly object[]): Promise<{ verdicts: string[]; attested: string[] }> => {
        writeFileSync(path, lines.map((line) => JSON.stringify(line)).join('\n'));
        return JSON.parse(await runProgram('verify-lines', app.url, path));
      };
      const texts = Object.values(files);
      const { verdicts: honest, attested } = await verify(texts.map((text) => ({ text, publicKey })));
      expect(honest.filter((verdict) => !verdict.startsWith('RECOMPUTED'))).toEqual([]);
      const [seen, details] = [new SeenValues(), new Map<string, Set<string>>()];
      for (const file of texts.map((text) => JSON.parse(text))) {
        noteSeen(file, seen);
        for (const { action, audit } of file.entries)
          details.set(action, new Set([...(details.get(action) ?? []), ...Object.keys(audit.details)]));
      }
      const { privateKey } = generateKeyPairSync('ed25519');
      const attestedFor = ({ path: at, action, type }: Row): string[] =>
        attested.filter((name) =>
          [at, `${action} ${at}`, `${type} ${at}`].some(
            (one) => one === name || (/^[.[]/u.test(one.slice(name.length)) && one.startsWith(name)),
          ),
        );
      const [tried, noticed, unnoticed] = [new Set<string>(), new Set<string>(), new Set<string>()];
      const passed: string[] = [];
      const once = new Set<string>();
      for (const [name, text] of Object.entries(files)) {
        const rows = rowsOf(JSON.parse(text), seen, FORMS, details).filter((row) => {
          if (isPremise(row)) return IN_FULL || !noticed.has(memberOf(row.path));
          const key = `${row.action} ${row.type} ${row.path} ${row.place.slice(0, 3)} ${row.place.endsWith('-> undefined')}`;
          const isNew = !once.has(key);
          once.add(key);
          return IN_FULL || isNew;
        });
        const { verdicts } = await verify(rows.map(({ change }) => forge(text, change, privateKey)));
        for (const [index, row] of rows.entries()) {
          tried.add(memberOf(row.path));
          const verdict = verdicts[index] ?? '';
          if (/^(?:DIFFERS|INVALID|UNDECIDED): /u.test(verdict)) noticed.add(memberOf(row.path));
          else if (verdict.startsWith('RECOMPUTED')) {
            for (const one of attestedFor(row)) unnoticed.add(one);
            if (!isPremise(row) && attestedFor(row).length === 0) passed.push(`${name}: ${row.path}, ${row.place}`);
          } else passed.push(`${name}: ${row.path}, ${row.place}: ${verdict}`);
        }
      }
      rmSync(folder, { recursive: true });
      expect(passed.slice(0, MOST_SHOWN)).toEqual([]);
      const members = Object.entries(FORMS).flatMap(([kind, { members: own, later }]) =>
        [...own, ...later].map((member) => `${kind}.${member}`),
      );
      expect(members.filter((member) => !tried.has(member))).toEqual([]);
      expect(
        [...tried].filter((member) => !noticed.has(member) && !attested.some((name) => name.endsWith(member))),
      ).toEqual([]);
      if (IN_FULL) expect(attested.filter((one) => !unnoticed.has(one))).toEqual([]);
    },
    TIMEOUT,
  );
});
