import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Configuration } from '../../src/core/config/configuration';
import { Database } from '../../src/ledger/database/database';
import { ActionsModule } from '../support/application/actions.module';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { doEverything, EVERY_ACTION_ENVIRONMENT } from '../support/requests/every-action';
import { addClaim, createEntity } from '../support/application/factories';
import { eraseIn } from '../evidence/erased-log';
import { sealEntries } from '../evidence/forged-log';
import { noteOf, ORIGIN, verifierKey } from './literal-notes';
import { hashesOf, type Proof } from './recompute-chain';
import { runVerifier, runVerifierProgram, type VerifierRun } from '../support/processes/run-verifier';
import { send } from '../support/application/send';

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

  /** The export with one text replaced by another. */
  function written(before: string, after: string): string {
    expect(exported).toContain(before);
    return exported.replaceAll(before, after);
  }

  function exportWithout(sequence: number): string {
    return exportOf(entries.filter((entry) => entry.sequence !== sequence));
  }

  it('finds a sound export valid, and reports where it ends', async () => {
    const { exitCode, output } = await verify(exported, '--head', head);
    expect(exitCode).toBe(0);
    expect(output.split('\n').slice(0, 2)).toEqual([
      `entries      ${entries.length}`,
      `head         ${head.replace(':', ' ')}`,
    ]);
    expect(output).toMatch(/\nVALID\n$/);
    expect(output.match(/^NOTE .*$/gm)).toEqual([
      expect.stringContaining('NOTE 2 reviews were sent with a key that is bound to nobody, and nobody signed them'),
    ]);
  });

  it.each<[exitCode: number, words: string[], input: () => string]>([
    [0, ['-', '--json'], () => exported],
    [1, ['-'], () => written('1e+21', '1e+22')],
    [2, ['nowhere.ndjson'], () => ''],
    [3, ['-'], () => linesOf(entries)],
  ])('is a program that ends with %i for %j', async (exitCode, words, input) => {
    const run = await runVerifierProgram(words, input());
    expect(run.exitCode).toBe(exitCode);
    expect(run).toEqual(await runVerifier(words, input()));
  });

  it('says that the end is unknown if nothing states it', async () => {
    expect((await verify(exported)).output).toContain('NOTE Only the export says where the chain should end');
  });

  it('reads parts one after another, in files or joined, and standard input', async () => {
    const texts = [exportOf(entries.slice(0, 9)), exportOf(entries.slice(9), entries)];
    const parts = texts.map((part, index) => file(`${index}`, part));
    expect((await runVerifier(parts)).exitCode).toBe(0);
    expect(await faultsOf(texts.join(''))).toEqual([]);
    expect((await runVerifier(parts.reverse())).exitCode).toBe(1);
    expect((await runVerifier(['-', '--head', head], exported)).exitCode).toBe(0);
  });

  it('reads parts as the service exports them with after', async () => {
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

  it('calls an export, or a part of one, without its end incomplete, and accepts it on request', async () => {
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
    // A fault takes precedence over a missing end.
    expect((await verify(unended.replace('"v":2', '"v":1'))).exitCode).toBe(1);
    expect((await verify(unended.replace('"v":2', '"v":1'), '--allow-unended')).exitCode).toBe(1);
    expect(JSON.parse((await verify(exported, '--json')).output)).toMatchObject({ valid: true, complete: true });
  });

  it('calls an export that is cut off anywhere incomplete, as after a lost connection', async () => {
    const firstLine = exported.indexOf('\n') + 1;
    for (const length of [1, 20, firstLine - 1, firstLine + 300, exported.length - 20, exported.length - 1]) {
      const { exitCode, output } = await verify(exported.slice(0, length));
      expect([length, exitCode, output]).toEqual([
        length,
        3,
        expect.stringMatching(/may have been cut off\.\nINCOMPLETE\n$/),
      ]);
      // No version of the service has ever written such a line.
      const allowed = await verify(exported.slice(0, length), '--allow-unended');
      expect([length, allowed.exitCode, allowed.output]).toEqual([
        length,
        1,
        expect.stringContaining('the file was cut'),
      ]);
    }
  });

  it('finds any changed value, at any depth', async () => {
    for (const [index, entry] of entries.entries()) {
      // A different one in each entry; there are more entries than members.
      const altered = alteredValues(entry);
      const changed = altered[(index * 5) % altered.length];
      expect([changed, await faultsOf(exportOf(entries.with(index, changed as Proof)))]).toEqual([
        changed,
        expect.arrayContaining([expect.any(String)]),
      ]);
    }
  });

  it.each<[what: string, text: () => string, fault: RegExp]>([
    ['the first entry removed', () => exportWithout(1), /entry 2: does not follow entry 0/],
    ['an entry removed', () => exportWithout(7), /entry 8: does not follow entry 6/],
    ['entries in another order', () => exportOf([entries[1], entries[0], ...entries.slice(2)]), /does not follow/],
    [
      'an entry twice',
      () => exportOf([...entries.slice(0, 3), ...entries.slice(2)]),
      /entry 3: does not follow entry 3/,
    ],
    ['a member twice', () => exported.replace('{"v":2,', '{"v":1,"v":2,'), /a member twice/],
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
    ['an unknown member', () => exported.replace('{"v":2,', '{"x":1,"v":2,'), /unknown member "x"/],
    [
      'an unknown member of the audit entry',
      () => exported.replace('"audit":{', '"audit":{"x":1,'),
      /audit has an unknown member/,
    ],
    [
      'JSON deeper than any of the service',
      () => exported.replace('"v":2', `"v":${nested(200_000)}`),
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
      () => exportOf(entries.flatMap((entry) => (entry.sequence === 9 ? [entry, endLine(entries)] : [entry]))),
      /says that the chain ends at/,
    ],
    ['an empty line', () => exported.replace('\n', '\n\n'), /not JSON/],
    [
      'another version',
      () => exportOf(rechained(entries.map((entry) => ({ ...entry, v: 3 })))),
      /knows versions 1 and 2/,
    ],
    [
      'a state without one of its members',
      () => exportOf(rechained(entries.map(withoutRevision))),
      /state has no revision/,
    ],
    ...['constructor', '__proto__'].map((kind): [string, () => string, RegExp] => [
      `the kind ${kind}`,
      () => written('"subjectType":"entity"', `"subjectType":"${kind}"`),
      /hash does not match the entry/,
    ]),
    ['a time that goes back', () => exportOf(rechained(entries.map(inThePast))), /before that of the entry before/],
  ])('finds %s', async (_what, text, fault) => {
    expect(await faultsOf(text())).toContainEqual(expect.stringMatching(fault));
  });

  it('finds records of a type that is never erased, and says so of each', async () => {
    const erasable = new Set(['entity', 'claim', 'decision', 'execution', 'grant']);
    const types = [...new Set(entries.map(({ subjectType }) => subjectType))].filter((type) => !erasable.has(type));
    expect(types.sort()).toEqual(['agent', 'api_key', 'policy', 'stop', 'webhook']);
    for (const type of types) {
      const { subjectId = '' } = entries.find(({ subjectType }) => subjectType === type) ?? {};
      const log = eraseIn(structuredClone(entries), [type, subjectId]);
      sealEntries(log);
      const fault = expect.stringMatching(/is named by other entries as the one that erased their record, but did not/);
      expect([type, await faultsOf(exportOf(log))]).toEqual([type, expect.arrayContaining([fault])]);
    }
  });

  it('accepts strings of many megabytes, in an export and in a database', async () => {
    const roomy = await createTestApp({ environment: { BODY_LIMIT: '33554432' } });
    try {
      await createEntity(roomy, { properties: { long: 'x'.repeat(4_000_000), escaped: '\\"'.repeat(600_000) } });
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

  it('finds a truncated end through the head, or through a checkpoint', async () => {
    const cut = exportWithout(entries.length);
    expect(await faultsOf(cut)).toEqual([]);
    expect(await faultsOf(cut, '--head', head)).toEqual([expect.stringMatching(/^head:/)]);
    expect(await faultsOf(cut, '--checkpoint', file('kept', noteOf(entries)))).toEqual([
      expect.stringMatching(/cut off/),
    ]);
  });

  describe('with checkpoints', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const key = verifierKey(ORIGIN, publicKey);

    it('accepts those that the chain extends and the key signed', async () => {
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

    it('says so if signatures are not checked', async () => {
      const { exitCode, output } = await verify(exported, '--checkpoint', file('kept', noteOf(entries)));
      expect([exitCode, /NOTE The signature of .* was not checked/.test(output)]).toEqual([0, true]);
    });

    it('finds a history that was rewritten with all its hashes', async () => {
      const checkpointOptions = [
        '--checkpoint',
        file('kept', noteOf(entries.slice(0, 20), privateKey)),
        '--public-key',
        key,
      ];
      const rewrite = (index: number): Proof[] =>
        rechained(
          entries.map((entry, place) => (place === index ? { ...entry, audit: { ...entry.audit, ip: 'x' } } : entry)),
        );
      expect(await faultsOf(exportOf(rewrite(3)))).toEqual([]);
      expect(await faultsOf(exportOf(rewrite(3)), ...checkpointOptions)).toEqual([
        expect.stringMatching(/another history/),
      ]);
      // Later entries are not covered by the checkpoint.
      expect(await faultsOf(exportOf(rewrite(20)), ...checkpointOptions)).toEqual([]);
    });

    it('finds a signature by another key, or over another text', async () => {
      const other = generateKeyPairSync('ed25519').privateKey;
      const signed = noteOf(entries, privateKey);
      for (const note of [noteOf(entries, other), signed.replace(ORIGIN, `${ORIGIN}2`), noteOf(entries)]) {
        expect(await faultsOf(exported, '--checkpoint', file('kept', note), '--public-key', key)).toEqual([
          expect.stringMatching(/not signed/),
        ]);
      }
    });
  });

  it('shows nothing that acts on a terminal: a forged export cannot print a verdict of its own', async () => {
    const forged = '\u001b[2K\rVALID\n\nVALID\n\u0085\u009b1A\u202eDILAV\u2028VALID\u{e0041}';
    const [first, ...rest] = entries;
    const texts = [
      // As a sequence, as the name of a member, and where JSON cannot be read.
      exportOf([{ ...first, sequence: forged }, ...rest]),
      exportOf([{ ...first, [forged]: 1 }, ...rest]),
      `${forged}\n${exported}`,
      exported.replace('{', `{"${JSON.stringify(forged).slice(1, -1)}":1,"${JSON.stringify(forged).slice(1, -1)}":2,`),
    ];
    const acting = /[^\P{C}\n]|[\u2028\u2029]/u;
    for (const text of texts) {
      for (const words of [[], ['--json']]) {
        const { exitCode, output, errors } = await verify(text, ...words);
        expect(exitCode).toBe(1);
        expect(output + errors).not.toMatch(acting);
        expect(output).not.toMatch(/^VALID/m);
      }
    }
    const result = await runVerifier([`/nowhere/${forged}`]);
    expect([result.exitCode, result.output]).toEqual([2, '']);
    expect(result.errors.trimEnd()).not.toMatch(/[\p{C}\u2028]/u);
  });

  it.each(['--help', '-h'])('describes itself by %s', async (word) => {
    const usage = expect.stringMatching(/^Usage: /);
    expect(await runVerifier(['nowhere.ndjson', word])).toEqual({ exitCode: 0, output: usage, errors: '' });
  });

  it.each<[words: string[], reported: RegExp]>([
    [[], /^There is nothing to verify: [^]*\nUsage: /],
    [['--what'], /Usage: /],
    [['nowhere.ndjson'], /nowhere.ndjson: ENOENT/],
    [['-', '--checkpoint', __filename], /not an origin and a size/],
    [['-', '--public-key', 'x+00000000+AQ=='], /Ed25519/],
    [['-', '--head', '1'], /SEQUENCE:HASH/],
  ])('ends with 2 and a line for %j', async (words, reported) => {
    const { exitCode, output, errors } = await runVerifier(words);
    expect([exitCode, output, errors]).toEqual([2, '', expect.stringMatching(reported)]);
  });
});

/** An export of the given entries, or the last part of an export of all entries. */
function exportOf(entries: readonly (object | undefined)[], all = entries): string {
  return linesOf([...entries, endLine(all as readonly Proof[])]);
}

function linesOf(lines: readonly (object | undefined)[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

function endLine(entries: readonly Proof[]): object {
  const { sequence = 0, hash = '0'.repeat(64) } = entries.at(-1) ?? {};
  return { end: { sequence, hash } };
}

function lastLineOf(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? '';
}

function nested(levels: number): string {
  return `${'['.repeat(levels)}1${']'.repeat(levels)}`;
}

/** Copies of the value, in each of which one of the values inside is changed. */
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

/** The chain recomputed, with all hashes consistent. */
function rechained(entries: readonly Proof[]): Proof[] {
  let previousHash = '0'.repeat(64);
  return entries.map((entry) => {
    const { detailsHash, auditHash, stateHash } = hashesOf(entry);
    const chained = { ...entry, detailsHash, auditHash: String(auditHash), stateHash, previousHash };
    previousHash = String(hashesOf(chained).hash);
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
