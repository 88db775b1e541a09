import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Configuration } from '../../src/config/configuration';
import { Database } from '../../src/database/database';
import { SqliteConnection } from '../../src/database/sqlite/sqlite-connection';
import { OPEN_READWRITE } from '../../src/database/sqlite/sqlite-driver';
import { ActionsModule } from '../support/application/actions.module';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { describeOnSqlite } from '../support/database/database-kind';
import { doEverything, EVERY_ACTION_ENVIRONMENT } from '../support/requests/every-action';
import { addClaim, createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { canonicalHash, type Proof } from './recompute-chain';
import { runVerifier, type VerifierRun } from '../support/processes/run-verifier';
import { send } from '../support/application/send';

const ORIGIN = 'example.org/log';

describe('The offline verifier', () => {
  let app: TestApp;
  let folder: string;
  let exported: string;
  let entries: Proof[];
  let head: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'verifier-test-'));
    app = await createTestApp({ modules: [ActionsModule], environment: EVERY_ACTION_ENVIRONMENT });
    await doEverything(app);
    const { id } = await createEntity(app, {
      properties: { 'é"\\': [1e21, -0, 1e20, -(2 ** 53), 'a:b', '\u2028', {}], constructor: null },
    });
    await addClaim(app, id, { value: '😀' });
    const { text, headers } = await send(app, 'GET', '/api/v1/provenance/export');
    exported = text;
    entries = text
      .trimEnd()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Proof);
    head = `${headers.get('x-head-sequence')}:${headers.get('x-head-hash')}`;
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  function file(name: string, text: string): string {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  }

  function verify(text: string, ...words: string[]): Promise<VerifierRun> {
    return runVerifier([file('export.ndjson', text), ...words]);
  }

  async function faultsOf(text: string, ...words: string[]): Promise<string[]> {
    const { exitCode, output } = await verify(text, '--json', ...words);
    const { valid, firstFaults } = JSON.parse(output);
    expect([exitCode, valid]).toEqual(firstFaults.length === 0 ? [0, true] : [1, false]);
    return firstFaults.map(({ layer, place, fault }: Record<string, string>) => `${layer}: ${place}: ${fault}`);
  }

  /** The export with something in it written differently. */
  function written(before: string, after: string): string {
    expect(exported).toContain(before);
    return exported.replaceAll(before, after);
  }

  function without(sequence: number): string {
    return exportOf(entries.filter((entry) => entry.sequence !== sequence));
  }

  it('finds a sound export valid, and tells where it ends', async () => {
    const { exitCode, output } = await verify(exported, '--head', head);
    expect(exitCode).toBe(0);
    expect(output.split('\n').slice(0, 2)).toEqual([
      `entries      ${entries.length}`,
      `head         ${head.replace(':', ' ')}`,
    ]);
    expect(output).toMatch(/\nVALID\n$/);
    expect(output).not.toContain('NOTE');
  });

  it('says that the end is not known when nothing tells it', async () => {
    expect((await verify(exported)).output).toContain('NOTE Where the chain should end is not known');
  });

  it('reads parts one after another, in files or joined, and standard input', async () => {
    const texts = [exportOf(entries.slice(0, 9)), exportOf(entries.slice(9), entries)];
    const parts = texts.map((part, index) => file(`${index}`, part));
    expect((await runVerifier(parts)).exitCode).toBe(0);
    expect(await faultsOf(texts.join(''))).toEqual([]);
    expect((await runVerifier(parts.reverse())).exitCode).toBe(1);
    expect((await runVerifier(['-', '--head', head], exported)).exitCode).toBe(0);
  });

  it('reads parts as the service makes them with after', async () => {
    const before = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    await createEntity(app);
    const { text } = await send(
      app,
      'GET',
      `/api/v1/provenance/export?after=${JSON.parse(lastLineOf(before)).end.sequence}`,
    );
    const nothing = await send(
      app,
      'GET',
      `/api/v1/provenance/export?after=${JSON.parse(lastLineOf(text)).end.sequence}`,
    );
    expect(await faultsOf(before + text + nothing.text)).toEqual([]);
  });

  it('calls an export without its end incomplete, each part of it, and takes it when asked to', async () => {
    const unended = linesOf(entries);
    const others = [linesOf(entries.slice(0, -1)), '', linesOf(entries.slice(0, 9))];
    for (const text of [unended, ...others]) {
      const { exitCode, output } = await verify(text);
      expect([exitCode, output]).toEqual([3, expect.stringMatching(/NOTE \S+ has no last line[^]*\nINCOMPLETE\n$/)]);
      expect(JSON.parse((await verify(text, '--json')).output)).toMatchObject({
        valid: false,
        complete: false,
        faults: 0,
      });
      const allowed = await verify(text, '--allow-unended', '--json');
      expect([allowed.exitCode, JSON.parse(allowed.output)]).toMatchObject([0, { valid: true, complete: false }]);
    }
    const [ended, second] = [file('first', exportOf(entries.slice(0, 9))), file('second', linesOf(entries.slice(9)))];
    expect((await runVerifier([ended, second])).exitCode).toBe(3);
    const [first, last] = [
      file('first', linesOf(entries.slice(0, 9))),
      file('second', exportOf(entries.slice(9), entries)),
    ];
    expect((await runVerifier([first, last])).exitCode).toBe(3);
    expect((await runVerifier(['-'], unended)).exitCode).toBe(3);
    // A fault is more than a missing end.
    expect((await verify(unended.replace('"v":1', '"v":2'))).exitCode).toBe(1);
    expect((await verify(unended.replace('"v":1', '"v":2'), '--allow-unended')).exitCode).toBe(1);
    expect(JSON.parse((await verify(exported, '--json')).output)).toMatchObject({ valid: true, complete: true });
  });

  it('calls an export that is cut anywhere incomplete, as a connection that breaks leaves it', async () => {
    const firstLine = exported.indexOf('\n') + 1;
    for (const length of [1, 20, firstLine - 1, firstLine + 300, exported.length - 20, exported.length - 1]) {
      const { exitCode, output } = await verify(exported.slice(0, length));
      expect([length, exitCode, output]).toEqual([
        length,
        3,
        expect.stringMatching(/may have been cut off\.\nINCOMPLETE\n$/),
      ]);
      // No version of the service has made such a line.
      const allowed = await verify(exported.slice(0, length), '--allow-unended');
      expect([length, allowed.exitCode, allowed.output]).toEqual([
        length,
        1,
        expect.stringContaining('the file was cut'),
      ]);
    }
  });

  it('finds any value that was changed, at whatever depth', async () => {
    for (const [index, entry] of entries.entries()) {
      // Another one in each entry; together they are more than there are members.
      const altered = alteredValues(entry);
      const changed = altered[(index * 5) % altered.length];
      expect([changed, await faultsOf(exportOf(entries.with(index, changed as Proof)))]).toEqual([
        changed,
        expect.arrayContaining([expect.any(String)]),
      ]);
    }
  });

  it.each<[what: string, text: () => string, fault: RegExp]>([
    ['the first entry removed', () => without(1), /entry 2: does not follow entry 0/],
    ['an entry removed', () => without(7), /entry 8: does not follow entry 6/],
    ['entries in another order', () => exportOf([entries[1], entries[0], ...entries.slice(2)]), /does not follow/],
    [
      'an entry twice',
      () => exportOf([...entries.slice(0, 3), ...entries.slice(2)]),
      /entry 3: does not follow entry 3/,
    ],
    ['a member twice', () => exported.replace('{"v":1,', '{"v":2,"v":1,'), /a member twice/],
    [
      'a member of a state twice',
      () => exported.replace('"properties":{', '"properties":{"a":1,"a":1,'),
      /a member twice/,
    ],
    [
      'null written as a number too large',
      () => written('"constructor":null', '"constructor":1e400'),
      /1e400 is not as/,
    ],
    ['digits that get lost', () => written('1e+21', '1000000000000000000001'), /1000000000000000000001 is not as/],
    ['another zero', () => written('[1e+21,0,', '[1e+21,-0,'), /-0 is not as/],
    ['an unknown member', () => exported.replace('{"v":1,', '{"x":1,"v":1,'), /unknown member "x"/],
    [
      'an unknown member of the audit entry',
      () => exported.replace('"audit":{', '"audit":{"x":1,'),
      /audit has an unknown member/,
    ],
    [
      'JSON deeper than any of the service',
      () => exported.replace('"v":1', `"v":${nested(200_000)}`),
      /deeper than 100/,
    ],
    ['a line that is cut before others', () => exported.replace(/.{20}\n/, '\n'), /not JSON/],
    ['a line that is not an object', () => `${exported}[]\n`, /is not an object/],
    [
      'another end',
      () => exported.replace('{"end":{"sequence":', '{"end":{"sequence":1'),
      /says that the chain ends at 1/,
    ],
    ['an end with another hash', () => exported.replace(/("end".*)[0-9a-f]"/, '$1x"'), /says that the chain ends at/],
    ['an end that says more', () => exported.replace('{"end":{', '{"end":{"x":1,'), /and nothing else/],
    ['an end that is none', () => exportOf([...entries, { end: null }]), /and nothing else/],
    [
      'an end before the last entry',
      () => exportOf(entries.flatMap((entry) => (entry.sequence === 9 ? [entry, endOf(entries)] : [entry]))),
      /says that the chain ends at/,
    ],
    ['an empty line', () => exported.replace('\n', '\n\n'), /not JSON/],
    ['another version', () => exportOf(rechained(entries.map((entry) => ({ ...entry, v: 2 })))), /knows version 1/],
    [
      'a state without one of its members',
      () => exportOf(rechained(entries.map(withoutRevision))),
      /state has no revision/,
    ],
    ['a time that goes back', () => exportOf(rechained(entries.map(inThePast))), /before that of the entry before/],
  ])('finds %s', async (_what, text, fault) => {
    expect(await faultsOf(text())).toContainEqual(expect.stringMatching(fault));
  });

  it('takes strings of many megabytes for what they are, in an export and in a database', async () => {
    const roomy = await createTestApp({ environment: { BODY_LIMIT: '33554432' } });
    try {
      await createEntity(roomy, { properties: { long: 'x'.repeat(12_000_000), escaped: '\\"'.repeat(2_000_000) } });
      const { text } = await send(roomy, 'GET', '/api/v1/provenance/export');
      expect(await faultsOf(text)).toEqual([]);
      const { kind } = roomy.application.get(Configuration).database;
      if (kind !== 'sqlite') return;
      const { exitCode, output } = await runVerifier([roomy.application.get(Database).location]);
      expect([exitCode, output]).toEqual([0, expect.stringMatching(/\nVALID\n$/)]);
    } finally {
      await roomy.close();
    }
  });

  it('finds a cut end by the head, or by a checkpoint', async () => {
    const cut = without(entries.length);
    expect(await faultsOf(cut)).toEqual([]);
    expect(await faultsOf(cut, '--head', head)).toEqual([expect.stringMatching(/^head:/)]);
    expect(await faultsOf(cut, '--checkpoint', file('kept', noteOf(entries)))).toEqual([
      expect.stringMatching(/cut off/),
    ]);
  });

  describe('with checkpoints', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const key = verifierKey(ORIGIN, publicKey);

    it('takes those that the chain extends, signed by the key', async () => {
      const [early, late] = [5, entries.length].map((size) =>
        file(`size ${size}`, noteOf(entries.slice(0, size), privateKey)),
      );
      const words = ['--checkpoint', early ?? '', '--checkpoint', late ?? '', '--public-key', key];
      expect(await faultsOf(exported, ...words)).toEqual([]);
      expect(await faultsOf(exported, '--checkpoint', early ?? '', '--public-key', file('key', `${key}\n`))).toEqual(
        [],
      );
      const empty = file('empty', noteOf([], privateKey));
      expect(await faultsOf(exported, '--checkpoint', empty, '--public-key', key)).toEqual([]);
    });

    it('says so when signatures are not checked', async () => {
      const { exitCode, output } = await verify(exported, '--checkpoint', file('kept', noteOf(entries)));
      expect([exitCode, /NOTE The signature of .* was not checked/.test(output)]).toEqual([0, true]);
    });

    it('finds history that was rewritten with all its hashes', async () => {
      const kept = ['--checkpoint', file('kept', noteOf(entries.slice(0, 20), privateKey)), '--public-key', key];
      const rewrite = (index: number): Proof[] =>
        rechained(
          entries.map((entry, place) => (place === index ? { ...entry, audit: { ...entry.audit, ip: 'x' } } : entry)),
        );
      expect(await faultsOf(exportOf(rewrite(3)))).toEqual([]);
      expect(await faultsOf(exportOf(rewrite(3)), ...kept)).toEqual([expect.stringMatching(/another history/)]);
      // What came after the checkpoint is not in it.
      expect(await faultsOf(exportOf(rewrite(20)), ...kept)).toEqual([]);
    });

    it('finds a signature of another key, or over another text', async () => {
      const other = generateKeyPairSync('ed25519').privateKey;
      const signed = noteOf(entries, privateKey);
      for (const note of [noteOf(entries, other), signed.replace(ORIGIN, `${ORIGIN}2`), noteOf(entries)]) {
        expect(await faultsOf(exported, '--checkpoint', file('kept', note), '--public-key', key)).toEqual([
          expect.stringMatching(/not signed/),
        ]);
      }
    });
  });

  it.each<[words: string[], told: RegExp]>([
    [[], /^Usage: /],
    [['--what'], /Usage: /],
    [['nowhere.ndjson'], /nowhere.ndjson: ENOENT/],
    [['-', '--checkpoint', __filename], /not an origin and a size/],
    [['-', '--public-key', 'x+00000000+AQ=='], /Ed25519/],
    [['-', '--head', '1'], /SEQUENCE:HASH/],
  ])('ends with 2 and a line for %j', async (words, told) => {
    const { exitCode, output, errors } = await runVerifier(words);
    expect([exitCode, output, errors]).toEqual([2, '', expect.stringMatching(told)]);
  });

  describeOnSqlite('on a database', () => {
    it('finds it valid while the service runs and writes, and leaves it alone', async () => {
      const { location } = app.application.get(Database);
      const writing = Array.from({ length: 120 }, () => createEntity(app));
      const { exitCode, output } = await runVerifier([location, '--json']);
      await Promise.all(writing);
      expect([exitCode, JSON.parse(output)]).toMatchObject([0, { valid: true, faults: 0, notes: [] }]);
      const { records } = JSON.parse((await runVerifier([location, '--json'])).output);
      const { body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
      expect(body).toMatchObject({ valid: true, recordsVerified: records });
    });

    /** A copy of the database, in which somebody changed something. */
    async function altered(...statements: readonly string[]): Promise<string> {
      const path = join(mkdtempSync(join(folder, 'altered-')), 'governance.db');
      const foreign = await foreignConnection(app);
      await foreign.run('VACUUM INTO $1', [path]);
      await foreign.close();
      const copy = await SqliteConnection.open(path, OPEN_READWRITE);
      for (const statement of statements) await copy.run(statement);
      await copy.close();
      return path;
    }

    async function faultsIn(path: string): Promise<string[]> {
      const { firstFaults } = JSON.parse((await runVerifier([path, '--json'])).output);
      return firstFaults.map(({ layer, fault }: Record<string, string>) => `${layer}: ${fault}`);
    }

    it.each([
      ['"constructor":null', '"constructor":1e400'],
      ['1e+21', '1000000000000000000001'],
    ])('finds %s of a record written as %s', async (before, after) => {
      const path = await altered(`UPDATE entities SET properties = replace(properties, '${before}', '${after}')`);
      expect(await faultsIn(path)).toEqual(['records: it is not as its last entry left it']);
      expect(await faultsIn(await altered())).toEqual([]);
    });

    it.each(['9007199254740993', '9223372036854775807', '-9223372036854775808', '0', `'x'`])(
      'finds an entry with the sequence %s',
      async (sequence) => {
        const path = await altered(
          ...added('ledger_entries', `sequence = ${sequence}, id = 'x', "auditId" = 'x', "subjectId" = 'x'`),
        );
        expect(await faultsIn(path)).toEqual(['chain: 1 have a sequence outside 1 to 2^53 - 1']);
      },
    );

    it.each(['9007199254740993', '9223372036854775807', '-9223372036854775808'])(
      'reads records at the row %s',
      async (row) => {
        const moved = `UPDATE entities SET rowid = ${row} WHERE id = (SELECT max(id) FROM entities)`;
        expect(await faultsIn(await altered(moved))).toEqual([]);
        const path = await altered(
          ...added('entities', `id = 'x', "createdSequence" = 0`),
          `UPDATE entities SET rowid = ${row} WHERE id = 'x'`,
        );
        expect(await faultsIn(path)).toEqual(['records: no entry made it']);
      },
    );

    it.each([
      ['no UTF-8', `CAST(x'7aff' AS TEXT)`, 'no entry made it'],
      ['empty', `''`, 'no entry made it'],
      ['bytes', `x'7a'`, 'its id is not text'],
    ])('finds a record whose id is %s', async (_what, id, fault) => {
      expect(await faultsIn(await altered(...added('entities', `id = ${id}, "createdSequence" = 0`)))).toEqual([
        `records: ${fault}`,
      ]);
    });

    it('finds a record that is there twice, in a table made to take it', async () => {
      const path = await altered(
        'CREATE TABLE others AS SELECT * FROM entities',
        'DROP TABLE entities',
        'ALTER TABLE others RENAME TO entities',
        ...added('entities', `name = 'other'`),
      );
      expect(await faultsIn(path)).toEqual(Array(2).fill('records: its id is there twice'));
    });

    it('says what to do where no files can be made next to the database', async () => {
      const path = await altered('PRAGMA journal_mode = WAL');
      symlinkSync(join(folder, 'nowhere', 'file'), `${path}-shm`);
      const { exitCode, errors } = await runVerifier([path]);
      expect([exitCode, errors]).toEqual([2, expect.stringMatching(/Verify a copy in a folder .* \(SQLITE_CANTOPEN/)]);
    });

    it('takes a file that is not a database of the service for unreadable', async () => {
      const broken = file('broken.db', `SQLite format 3\0${'x'.repeat(5000)}`);
      expect(await runVerifier([broken])).toMatchObject({
        exitCode: 2,
        errors: expect.stringMatching(/Could not be read/),
      });
    });
  });
});

/** An export of entries, or the last part of one of all entries. */
function exportOf(entries: readonly (object | undefined)[], all = entries): string {
  return linesOf([...entries, endOf(all as readonly Proof[])]);
}

function linesOf(lines: readonly (object | undefined)[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

function endOf(entries: readonly Proof[]): object {
  const { sequence = 0, hash = '0'.repeat(64) } = entries.at(-1) ?? {};
  return { end: { sequence, hash } };
}

function lastLineOf(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? '';
}

function nested(levels: number): string {
  return `${'['.repeat(levels)}1${']'.repeat(levels)}`;
}

/** Statements that add a row like another one, but for some columns. */
function added(table: string, columns: string): string[] {
  return [
    `CREATE TEMPORARY TABLE added AS SELECT * FROM ${table} LIMIT 1`,
    `UPDATE added SET ${columns}`,
    `INSERT INTO ${table} SELECT * FROM added`,
  ];
}

/** The value with one of those in it changed, for each of them. */
function alteredValues(value: unknown): unknown[] {
  if (typeof value === 'number') return [value + 1];
  if (typeof value === 'string') return [`${value}x`];
  if (typeof value !== 'object' || value === null) return ['x'];
  return Object.entries(value).flatMap(([name, member]) =>
    alteredValues(member).map((altered) =>
      Array.isArray(value) ? value.with(Number(name), altered) : { ...value, [name]: altered },
    ),
  );
}

/** The chain anew, with all its hashes as they should be. */
function rechained(entries: readonly Proof[]): Proof[] {
  let previousHash = '0'.repeat(64);
  return entries.map((entry) => {
    const { audit, state } = entry;
    const stateHash = state === null ? null : canonicalHash(state);
    const chained = { ...entry, auditHash: canonicalHash(audit), stateHash, previousHash };
    const sealed = Object.entries(chained).filter(([name]) => !['hash', 'audit', 'state'].includes(name));
    previousHash = canonicalHash(Object.fromEntries(sealed));
    return { ...chained, hash: previousHash };
  });
}

function withoutRevision(entry: Proof): Proof {
  if (entry.action !== 'entity.created') return entry;
  return {
    ...entry,
    state: Object.fromEntries(Object.entries(entry.state ?? {}).filter(([name]) => name !== 'revision')),
  };
}

function inThePast(entry: Proof): Proof {
  if (entry.sequence !== 9) return entry;
  const timestamp = '1999-12-31T23:59:59.000Z';
  return { ...entry, timestamp, audit: { ...entry.audit, timestamp } } as Proof;
}

/** RFC 6962, section 2.1, word by word. */
function rootOf(hashes: readonly string[]): Buffer {
  const [first, ...others] = hashes;
  if (first === undefined) return digest();
  if (others.length === 0) return digest(Buffer.of(0), Buffer.from(first, 'hex'));
  const half = 2 ** Math.ceil(Math.log2(hashes.length) - 1);
  return digest(Buffer.of(1), rootOf(hashes.slice(0, half)), rootOf(hashes.slice(half)));
}

function digest(...parts: readonly (Buffer | string)[]): Buffer {
  return parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();
}

/** A checkpoint of the entries; signed by nobody known when there is no key. */
function noteOf(entries: readonly Proof[], key = generateKeyPairSync('ed25519').privateKey): string {
  const text = `${ORIGIN}\n${entries.length}\n${rootOf(entries.map(({ hash }) => hash)).toString('base64')}\n`;
  const publicKey = verifierKey(ORIGIN, key);
  const keyId = Buffer.from(publicKey.split('+')[1] ?? '', 'hex');
  const signature = Buffer.concat([keyId, sign(null, Buffer.from(text), key)]).toString('base64');
  return `${text}\n\u2014 ${ORIGIN} ${signature}\n`;
}

function verifierKey(name: string, key: KeyObject): string {
  const { x = '' } = key.export({ format: 'jwk' });
  const typed = Buffer.concat([Buffer.of(1), Buffer.from(x, 'base64url')]);
  return `${name}+${digest(`${name}\n`, typed).toString('hex').slice(0, 8)}+${typed.toString('base64')}`;
}
