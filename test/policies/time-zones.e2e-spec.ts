import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import moment from 'moment-timezone';
import { windowsAt } from '../../src/governance/policies/limits/limit-window';
import { findTimeZone, weekdayOf, zoneNames, ZONES_VERSION } from '../../src/core/values/time-zone';
import { SCHEMA_ZONES, SCHEMA_VERSION } from '../../src/ledger/schema/schema-version';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';
import { ROOT } from '../support/documents/markdown';
import { describeOnSqlite } from '../support/database/database-kind';

const [FIRST, LAST] = [Date.parse('1970-01-01T00:00:00Z'), Date.parse('2037-12-31T00:00:00Z')];
const NAMES = moment.tz.names().sort();
const IN_FULL = process.env['ZONE_CHANGES'] === 'all';
const ZONE_FILES = '/usr/share/zoneinfo';
const SYSTEM = join(ZONE_FILES, 'tzdata.zi');
/**
 * Zones that are others in 2025b, the version of Debian 12: later rules, corrected history, and, in EET and WET, its
 * older rules.
 */
const CHANGED_SINCE_2025B: readonly string[] = [
  'Africa/Casablanca',
  'Africa/El_Aaiun',
  'America/Bogota',
  'America/Edmonton',
  'America/Ensenada',
  'America/Havana',
  'America/Inuvik',
  'America/Rainy_River',
  'America/Santa_Isabel',
  'America/Tijuana',
  'America/Vancouver',
  'America/Winnipeg',
  'America/Yellowknife',
  'Asia/Tehran',
  'Canada/Central',
  'Canada/Mountain',
  'Canada/Pacific',
  'Cuba',
  'EET',
  'Europe/Chisinau',
  'Europe/Tiraspol',
  'Iran',
  'Mexico/BajaNorte',
  'WET',
];

/** Time at which the zones of the console end. */
const END_OF_CONSOLE = Date.parse('2100-01-01T00:00:00Z');
/** Prints the zones of the console in the form of the release's. */
const CUT_ZONES = `
  import { readFileSync } from 'node:fs';
  import { zonesUntil2100 } from './console/zone-years.mjs';
  const zones = JSON.parse(readFileSync('node_modules/moment-timezone/data/packed/latest.json', 'utf8'));
  process.stdout.write(JSON.stringify({ ...zones, zones: zonesUntil2100(zones.zones) }));
`;

type Change = readonly [time: number, offset: number];

function periodsOf(name: string): NonNullable<ReturnType<typeof findTimeZone>>['periods'] {
  const zone = findTimeZone(name);
  if (zone === null) throw new Error(`The database has no zone ${name}`);
  return zone.periods;
}

/** The instants in a span at which the offset changes, with the seconds of the new one. */
function changesOf(name: string, from: number, to: number): Change[] {
  const periods = periodsOf(name);
  return periods.flatMap(({ start, offset }, index): Change[] =>
    start >= from && start < to && offset !== periods[index - 1]?.offset ? [[start, offset / 1000]] : [],
  );
}

/**
 * Instants before and after changes of each zone, until a time. Many names share a table of changes: the changes of
 * 1970 to 2037 are read once for each table, and every twentieth of the others and of each further name.
 * `ZONE_CHANGES=all` reads every change of every name.
 */
function timesAtChanges(until: number): (readonly [name: string, times: readonly number[]])[] {
  const tables = new Set<string>();
  return NAMES.map((name) => {
    const periods = periodsOf(name);
    const starts = periods.flatMap(({ start }) => (Number.isFinite(start) && start < until ? start : []));
    const table = JSON.stringify(periods);
    const isNew = !tables.has(table);
    tables.add(table);
    const chosen = starts.filter(
      (start, index) => IN_FULL || index % 20 === 0 || (isNew && start >= FIRST && start < LAST),
    );
    return [name, chosen.flatMap((start) => [start - 1, start, start + 1_800_000])];
  });
}

/** Reads the changes of all zones of the system from `zdump`, which takes long: once for names with the same file. */
function systemChanges(names: readonly string[]): Map<string, Change[]> {
  const files = new Map(names.map((name) => [name, readFileSync(join(ZONE_FILES, name), 'latin1')]));
  const first = new Map([...files].reverse().map(([name, file]) => [file, name]));
  const { stdout } = spawnSync('zdump', ['-v', '-c', '1970,2038', ...first.values()], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    env: { ...process.env, LC_ALL: 'C' },
  });
  const changes = new Map<string, Change[]>(names.map((name) => [name, []]));
  const offsets = new Map<string, number>();
  for (const line of stdout.split('\n')) {
    const [, name = '', text = '', offset] = /^(\S+)\s+(\S.*?) UTC? = .* gmtoff=(-?\d+)$/.exec(line) ?? [];
    if (offset === undefined) continue;
    const [time, seconds] = [Date.parse(`${text} UTC`), Number(offset)];
    const before = offsets.get(name);
    offsets.set(name, seconds);
    if (before !== undefined && before !== seconds && time >= FIRST && time < LAST)
      changes.get(name)?.push([time, seconds]);
  }
  return new Map(names.map((name) => [name, changes.get(first.get(files.get(name) ?? '') ?? '') ?? []]));
}

// Independent of the database, so once is enough.
describeOnSqlite('The time zones of the release', () => {
  it('are all that the package has', () => {
    expect([...zoneNames()].sort()).toEqual(NAMES.map((name) => name.toLowerCase()).sort());
  });

  it('have the local times that Moment Timezone and the offline verifier compute, before and after changes', () => {
    const timesByZone = timesAtChanges(Infinity);
    const input = JSON.stringify(timesByZone);
    const { stdout, stderr } = spawnSync(process.execPath, [join(__dirname, 'zone-readings.mjs')], {
      input,
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    });
    expect(stderr).toBe('');
    const verified = JSON.parse(stdout) as unknown[][][];
    for (const [index, [name, times]] of timesByZone.entries()) {
      const zone = findTimeZone(name);
      const rules = moment.tz.zone(name);
      const ours = times.map((time) => {
        const { day, minute } = zone?.timeAt(new Date(time).toISOString()) ?? { day: -1, minute: -1 };
        return [weekdayOf(day), minute];
      });
      const windows = times.map((time) => {
        const windowOf = windowsAt(new Date(time).toISOString());
        return (['day', 'week', 'month'] as const).map((per) => windowOf({ per, zone: name })?.start);
      });
      expect([name, verified[index]]).toEqual([name, ours.map((reading, at) => [...reading, ...(windows[at] ?? [])])]);
      const theirs = times.map((time) => {
        // Moment rounds offsets to whole minutes where it formats, so the offset itself is asked for.
        const local = new Date(time - Math.round((rules?.utcOffset(time) ?? 0) * 60) * 1000);
        return [local.getUTCDay(), local.getUTCHours() * 60 + local.getUTCMinutes()];
      });
      expect([name, ours]).toEqual([name, theirs]);
    }
  });

  it('have the same local times in the console, up to the year 2100', () => {
    const folder = mkdtempSync(join(tmpdir(), 'console-zones-'));
    cpSync(join(ROOT, 'verifier'), join(folder, 'verifier'), { recursive: true });
    const cut = spawnSync(process.execPath, ['--input-type=module', '-e', CUT_ZONES], { cwd: ROOT, encoding: 'utf8' });
    expect(cut.stderr).toBe('');
    writeFileSync(join(folder, 'verifier', 'zones.json'), cut.stdout);
    cpSync(join(__dirname, 'zone-readings.mjs'), join(folder, 'test', 'policies', 'zone-readings.mjs'));
    const times = timesAtChanges(END_OF_CONSOLE);
    const script = join(folder, 'test', 'policies', 'zone-readings.mjs');
    const input = JSON.stringify([
      ...times,
      ['Europe/Berlin', [END_OF_CONSOLE - 1, Date.parse('2200-07-01T12:00:00Z')]],
    ]);
    const options = { input, encoding: 'utf8', maxBuffer: 2 ** 28 } as const;
    const console = spawnSync(process.execPath, [script], options);
    const release = spawnSync(process.execPath, [join(__dirname, 'zone-readings.mjs')], options);
    rmSync(folder, { recursive: true });
    expect(console.stderr).toBe('');
    const [ours, theirs] = [console.stdout, release.stdout].map((text) => JSON.parse(text) as unknown[][]);
    expect(ours?.slice(0, -1)).toEqual(theirs?.slice(0, -1));
    // The data of the console ends: in summer it stays at the last offset, and before that nothing differs.
    expect(ours?.at(-1)).toEqual([theirs?.at(-1)?.[0], expect.arrayContaining([2, 13 * 60])]);
    expect(theirs?.at(-1)?.[1]).toEqual(expect.arrayContaining([2, 14 * 60]));
  });

  const system = existsSync(SYSTEM) ? /^# version (\S+)/.exec(readFileSync(SYSTEM, 'utf8'))?.[1] : undefined;
  (system === undefined ? it.skip : it)(
    `change when those of this system do, from 1970 to 2037 (system ${system ?? 'without zones'}, release ${ZONES_VERSION})`,
    () => {
      const names = NAMES.filter((name) => existsSync(join(ZONE_FILES, name)));
      expect(names.length).toBeGreaterThan(400);
      const theirs = systemChanges(names);
      const different = names.filter(
        (name) => JSON.stringify(theirs.get(name)) !== JSON.stringify(changesOf(name, FIRST, LAST)),
      );
      if (system === ZONES_VERSION) expect(different).toEqual([]);
      else if (system === '2025b') expect(different).toEqual(CHANGED_SINCE_2025B);
      else
        process.stderr.write(
          `Not compared: the system has ${system}. ${different.length} zones differ: ${different.join()}\n`,
        );
    },
  );

  it('come to the service and to gov in one version of the package', () => {
    const [service, gov] = ['package.json', 'clients/cli/package.json'].map(
      (name) => JSON.parse(readFileSync(join(ROOT, name), 'utf8')) as Record<string, Record<string, string>>,
    );
    expect(gov?.['devDependencies']?.['moment-timezone']).toBe(service?.['dependencies']?.['moment-timezone']);
  });

  it('are those that were recorded with the version of the schema', () => {
    const from = Date.parse(SCHEMA_ZONES.from);
    const year = [...zoneNames()].sort().map((name) => {
      const start = periodsOf(name).findLast((period) => period.start <= from)?.offset;
      return [name, start, changesOf(name, from, from + 365 * 86_400_000)];
    });
    const answers = createHash('sha256').update(JSON.stringify(year)).digest('hex');
    const advice =
      'The package has another database of time zones. If `answers` differs, replicas of both releases would decide ' +
      'differently: add a migration and raise SCHEMA_VERSION. Then record schema, version, from (today) and answers.';
    expect({ advice, ...SCHEMA_ZONES }).toEqual({
      advice,
      schema: SCHEMA_VERSION,
      version: ZONES_VERSION,
      from: SCHEMA_ZONES.from,
      answers,
    });
  });
});

describe('An entry that a clock decided', () => {
  const EXECUTE = '/api/v1/agents/clerk/execute';
  let app: TestApp;
  let folder: string;
  beforeAll(async () => {
    app = await createTestApp();
    folder = mkdtempSync(join(tmpdir(), 'zones-'));
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  it('names the version of the time zones, and a verifier with another one cannot decide', async () => {
    await send(app, 'POST', '/api/v1/agents', { body: { name: 'clerk', description: 'Files.', capabilities: ['*'] } });
    const conditions = [{ clock: 'America/Vancouver', op: 'between', value: ['00:00', '24:00'] }];
    const policy = {
      name: 'day',
      version: '1.0',
      effect: 'allow',
      subjects: ['*'],
      actions: ['file'],
      resources: ['*'],
    };
    expect((await send(app, 'POST', '/api/v1/policies', { body: { ...policy, conditions } })).status).toBe(201);
    const request = { action: 'file', resourceType: 'paper', resourceId: 'a' };
    const { body } = await send(app, 'POST', EXECUTE, { body: request });
    const other = { ...policy, name: 'plain', actions: ['read'] };
    await send(app, 'POST', '/api/v1/policies', { body: other });
    await send(app, 'POST', EXECUTE, { body: { ...request, action: 'read' } });
    const entries = (await send(app, 'GET', '/api/v1/audit?action=execution.authorized')).body.data;
    const zones = entries.map(({ details }: { details: Record<string, unknown> }) => [
      details['action'],
      details['zones'],
    ]);
    expect(Object.fromEntries(zones)).toEqual({ file: ZONES_VERSION, read: undefined });

    const id = String(body.id ?? body.executionId);
    const { text } = await send(app, 'GET', `/api/v1/executions/${id}/evidence`);
    const { publicKey } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
    const file = join(folder, 'decision.evidence.json');
    writeFileSync(file, text);
    const verdict = (program: string): [number | null, string | undefined] => {
      const run = spawnSync(process.execPath, [program, file, '--public-key', publicKey], { encoding: 'utf8' });
      return [run.status, (run.stdout || run.stderr).trimEnd().split('\n').at(-1)];
    };
    expect(verdict(join(ROOT, 'verifier', 'main.mjs'))).toEqual([0, 'RECOMPUTED: authorized as recorded']);
    const copy = join(folder, 'verifier');
    cpSync(join(ROOT, 'verifier'), copy, { recursive: true });
    // Without this empty package, the copy would find one that somebody has installed above the temporary folder.
    const empty = join(copy, 'node_modules', 'moment-timezone');
    mkdirSync(empty, { recursive: true });
    writeFileSync(join(empty, 'package.json'), '{"exports":{}}');
    const undecided = [2, `UNDECIDED: zones ${ZONES_VERSION}`];
    expect(verdict(join(copy, 'main.mjs'))).toEqual(undecided);
    writeFileSync(join(copy, 'zones.json'), '{"version":"2099a","zones":["UTC|UTC|0|0|"],"links":[]}');
    expect(verdict(join(copy, 'main.mjs'))).toEqual(undecided);
  });
});
