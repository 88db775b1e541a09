import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DECISION } from '../../src/governance/decisions/decision.entity';
import { DELEGATION } from '../../src/governance/delegations/delegation.entity';
import { GRANT } from '../../src/governance/decisions/grants/grant.entity';
import { EXECUTION } from '../../src/governance/executions/execution.entity';
import type { Parsed } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { everyKindOfFile } from './every-kind-of-file';
import { entriesOf } from './forged-log';
import { noteSeen, rowsOf } from './forgers-table';
import { SeenValues } from './other-values';
import { runProgram } from './run-program';
import { keyAndLog } from './verified-file';

/**
 * `FORGERS_TABLE=all` tries every value in every entry, and otherwise one of each member.
 */
const IN_FULL = process.env['FORGERS_TABLE'] === 'all';
const KINDS = [DECISION, DELEGATION, EXECUTION, GRANT];
const FORMS = Object.fromEntries(
  KINDS.map(({ subjectType, hashedMembers, laterMembers = {} }) => [
    subjectType,
    { members: hashedMembers, later: Object.keys(laterMembers) },
  ]),
);
/** Nobody signs a delegation: whose review it lets through is recomputed, and its own terms are the caller's words. */
const PREMISES = ['delegation.from', 'delegation.until'];
const MOST_SHOWN = 30;
/** Milliseconds. */
const TIMEOUT = IN_FULL ? 3_600_000 : 900_000;

interface ForgedLogs {
  /** The first fault of each export; null without one. */
  readonly faults: readonly (string | null)[];
  /** The members that the verifier only attests. */
  readonly attested: readonly string[];
}

/** Verifies an export once for each list of entries, which take the place of its own. */
async function verifyForgedLogs(url: string, log: string, changes: readonly Parsed[][]): Promise<ForgedLogs> {
  const folder = mkdtempSync(join(tmpdir(), 'forger-'));
  const [exported, changed] = [join(folder, 'log'), join(folder, 'changes')];
  writeFileSync(exported, log);
  writeFileSync(changed, changes.map((line) => JSON.stringify(line)).join('\n'));
  const output = await runProgram('verify-forged-logs', url, exported, changed);
  rmSync(folder, { recursive: true });
  return JSON.parse(output);
}

/** Entries with one member of a state left out, or with one that the service never writes there. */
function malformedEntries(entries: readonly Parsed[]): Parsed[] {
  const kinds = new Map(entries.filter(({ state }) => state !== null).map((entry) => [entry.subjectType, entry]));
  return [...kinds.values()].flatMap((entry) =>
    Object.keys(entry.state).flatMap((name) => {
      const { [name]: left, ...state } = entry.state;
      return [state, { ...state, [name]: Array.isArray(left) ? {} : [{}] }].map((other) => ({
        ...entry,
        state: other,
      }));
    }),
  );
}

describe('A forger with the signing key, of an export alone', () => {
  const stage = stageOf(everyKindOfFile);

  it('makes nothing unreadable by members that are missing or of another form', async () => {
    const { app } = stage;
    const { log } = await keyAndLog(app);
    const malformed = malformedEntries(entriesOf(log));
    const { faults } = await verifyForgedLogs(app.url, log, [[], ...malformed.map((entry) => [entry])]);
    expect(faults).toHaveLength(malformed.length + 1);
    expect(faults[0]).toBeNull();
    expect(faults.filter((fault) => fault?.includes('state has no') === true).length).toBeGreaterThan(70);
  }, 900_000);

  it(
    'changes no member of what was decided unnoticed, except what the verifier says that it only attests',
    async () => {
      const { app } = stage;
      const { log } = await keyAndLog(app);
      const own = {
        entries: entriesOf(log).filter(({ subjectType }) => subjectType in FORMS),
        policies: [],
        rules: [],
      };
      const [seen, details] = [new SeenValues(), new Map<string, Set<string>>()];
      noteSeen(own, seen);
      for (const { action, audit } of own.entries)
        details.set(action, new Set([...(details.get(action) ?? []), ...Object.keys(audit.details)]));
      const once = new Set<string>();
      const rows = rowsOf(own, seen, FORMS, details).filter(({ type, path, place }) => {
        const key = `${type} ${path} ${place.slice(0, 3)}`;
        const isNew = !once.has(key);
        once.add(key);
        return (isNew || IN_FULL) && path !== 'rules.defaultEffect' && !PREMISES.includes(path);
      });
      const lines = rows.map(({ change }) => {
        const forged: Parsed = structuredClone(own);
        change(forged);
        return forged.entries.filter(
          (entry: Parsed, index: number) => JSON.stringify(entry) !== JSON.stringify(own.entries[index]),
        );
      });
      const { faults, attested } = await verifyForgedLogs(app.url, log, [[], ...lines]);
      const [honest, ...forgeries] = faults;
      expect(honest).toBeNull();
      const isAttested = ({ path, action, type }: (typeof rows)[number]): boolean =>
        attested.some((name: string) =>
          [path, `${action} ${path}`, `${type} ${path}`].some(
            (one) => one === name || (/^[.[]/u.test(one.slice(name.length)) && one.startsWith(name)),
          ),
        );
      const passed = rows.filter((row, index) => forgeries[index] === null && !isAttested(row));
      expect(passed.slice(0, MOST_SHOWN).map(({ path, place }) => `${path}: ${place.slice(0, 200)}`)).toEqual([]);
    },
    TIMEOUT,
  );
});
