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

describe('A forger with the signing key, of an export alone', () => {
  const stage = stageOf(everyKindOfFile);

  it(
    'changes no member of what was decided unnoticed, except what the verifier says that it only attests',
    async () => {
      const { app } = stage;
      const { log } = await keyAndLog(app);
      const folder = mkdtempSync(join(tmpdir(), 'forger-'));
      const [exported, changes] = [join(folder, 'log'), join(folder, 'changes')];
      writeFileSync(exported, log);
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
      writeFileSync(changes, [[], ...lines].map((line) => JSON.stringify(line)).join('\n'));
      const { faults, attested } = JSON.parse(await runProgram('verify-forged-logs', app.url, exported, changes));
      const [honest, ...forgeries] = faults;
      expect(honest).toBeNull();
      const isAttested = ({ path, action, type }: (typeof rows)[number]): boolean =>
        attested.some((name: string) =>
          [path, `${action} ${path}`, `${type} ${path}`].some(
            (one) => one === name || (/^[.[]/u.test(one.slice(name.length)) && one.startsWith(name)),
          ),
        );
      const passed = rows.filter((row, index) => forgeries[index] === null && !isAttested(row));
      rmSync(folder, { recursive: true });
      expect(passed.slice(0, MOST_SHOWN).map(({ path, place }) => `${path}: ${place.slice(0, 200)}`)).toEqual([]);
    },
    TIMEOUT,
  );
});
