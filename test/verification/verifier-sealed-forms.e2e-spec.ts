import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database } from '../../src/ledger/database/database';
import { createTestApp } from '../support/application/create-test-app';
import { addClaim, createAgent, createEntity, createPolicy } from '../support/application/factories';
import { erase } from '../support/application/erase';
import { send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { describeOnSqlite } from '../support/database/database-kind';
import { canonicalHash } from './recompute-chain';
import { runVerifier } from '../support/processes/run-verifier';

type JsonObject = Record<string, unknown>;
interface Sample {
  readonly v: 1 | 2;
  readonly action: string;
  readonly subject: readonly [type: string, id: string];
  readonly entityId?: string | undefined;
  readonly state: JsonObject | null;
  readonly details?: JsonObject;
  /** Words of the caller; null where the service takes none. */
  readonly reason?: string | null;
  /** The sequence of the entry that erased it. */
  readonly erased?: number;
}

const TIME = '2026-11-20T06:18:03.123Z';
const ENTITY = {
  id: 'ent_01M8GXKYS9AAYGA38BW7HT1BT3',
  type: 'person',
  name: 'Ada',
  properties: {},
  createdAt: TIME,
  updatedAt: TIME,
  revision: 1,
};
const CLAIM = {
  id: 'clm_01M8GXKYS9AAYGA38BW7HT1BT3',
  entityId: 'ent_01M8GXKYS9AAYGA38BW7HT1BT3',
  predicate: 'iban',
  value: 'DE1',
  context: {},
  createdAt: TIME,
};
const ERASURE = {
  id: 'ers_01M8GXKYS9AAYGA38BW7HT1BT3',
  subjects: [{ type: 'entity', id: 'ent_01M8GXKYS9AAYGA38BW7HT1BT3' }],
  reason: 'asked',
  createdAt: TIME,
};

/** An entity with a claim, made by version 1, changed by version 2, and erased. */
const HISTORY: readonly Sample[] = [
  { v: 1, action: 'entity.created', subject: ['entity', 'ent_01M8GXKYS9AAYGA38BW7HT1BT3'], state: ENTITY, erased: 6 },
  {
    v: 1,
    action: 'claim.added',
    subject: ['claim', 'clm_01M8GXKYS9AAYGA38BW7HT1BT3'],
    entityId: 'ent_01M8GXKYS9AAYGA38BW7HT1BT3',
    state: CLAIM,
    erased: 6,
  },
  {
    v: 2,
    action: 'entity.updated',
    subject: ['entity', 'ent_01M8GXKYS9AAYGA38BW7HT1BT3'],
    state: { ...ENTITY, revision: 2 },
    erased: 6,
  },
  {
    ...{ v: 2, action: 'erasure.begun', subject: ['erasure', 'ers_01M8GXKYS9AAYGA38BW7HT1BT3'], state: ERASURE },
    ...{ details: {}, reason: null },
  },
  { v: 2, action: 'entity.deleted', subject: ['entity', 'ent_01M8GXKYS9AAYGA38BW7HT1BT3'], state: null, erased: 6 },
  {
    v: 2,
    action: 'entity.erased',
    subject: ['entity', 'ent_01M8GXKYS9AAYGA38BW7HT1BT3'],
    state: null,
    details: { erasureId: 'ers_01M8GXKYS9AAYGA38BW7HT1BT3' },
  },
  {
    ...{ v: 2, action: 'erasure.completed', subject: ['erasure', 'ers_01M8GXKYS9AAYGA38BW7HT1BT3'], state: ERASURE },
    details: { entries: 4, records: 1, unsalted: 2 },
  },
];
const UNTOUCHED: readonly Sample[] = HISTORY.map(({ erased: _by, ...sample }) => sample);

/** Seals the samples as the contract of version 1 and 2 says, and then takes away what was erased. */
function sealed(samples: readonly Sample[]): JsonObject[] {
  let previousHash = '0'.repeat(64);
  return samples.map((sample, index) => {
    const entry = sealedEntry(sample, index + 1, previousHash);
    previousHash = String(entry['hash']);
    return sample.erased === undefined ? entry : erased(entry, sample.erased);
  });
}

function sealedEntry(
  { v, action, subject, entityId, state, details = { fields: ['name'] }, reason = 'why' }: Sample,
  sequence: number,
  previousHash: string,
): JsonObject {
  const [subjectType, subjectId] = subject;
  const [ip, requestId] = ['127.0.0.1', `request-${sequence}`];
  const shared = { sequence, timestamp: TIME, action, subjectType, subjectId };
  const auditMembers = {
    ...{ ...shared, id: `aud_${sequence}`, actor: { type: 'api_key', id: 'env' }, agentId: null },
    ...{ entityId: entityId ?? null, outcome: 'success' },
  };
  const salts = v === 1 ? null : { details: salt(sequence, 'd'), state: state === null ? null : salt(sequence, 's') };
  const detailsHash = salts === null ? null : canonicalHash({ details, ip, reason, requestId, salt: salts.details });
  const audit = { ...auditMembers, details, ip, reason, requestId };
  const salted = salts === null || state === null ? state : { salt: salts.state, state };
  const members = {
    ...{ ...shared, v, id: `prv_${sequence}`, auditId: auditMembers.id, previousHash },
    auditHash: canonicalHash(salts === null ? audit : { ...auditMembers, detailsHash }),
    stateHash: salted === null ? null : canonicalHash(salted),
  };
  return { ...members, hash: canonicalHash(members), detailsHash, audit, state, salts };
}

function erased(entry: JsonObject, erasureSequence: number): JsonObject {
  const audit = { ...(entry['audit'] as JsonObject), details: null, ip: null, reason: null, requestId: null };
  const salts = entry['salts'] === null ? null : { details: null, state: null };
  return { ...entry, audit, state: null, salts, erased: erasureSequence };
}

function salt(sequence: number, what: string): string {
  return createHash('sha256').update(`${what}${sequence}`).digest().subarray(0, 16).toString('base64url');
}

describe('The offline verifier on sealed forms of both versions', () => {
  const folder = mkdtempSync(join(tmpdir(), 'verifier-test-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  async function verify(entries: readonly JsonObject[]): Promise<JsonObject> {
    const [last] = entries.slice(-1);
    const end = { end: { sequence: last?.['sequence'], hash: last?.['hash'] } };
    const path = join(folder, 'export.ndjson');
    writeFileSync(path, [...entries, end].map((line) => `${JSON.stringify(line)}\n`).join(''));
    const { exitCode, output } = await runVerifier([path, '--json']);
    const result = JSON.parse(output);
    expect(exitCode).toBe(result.valid ? 0 : 1);
    return result;
  }

  async function faultsOf(entries: readonly JsonObject[]): Promise<string[]> {
    const { firstFaults } = (await verify(entries)) as { firstFaults: { place: string; fault: string }[] };
    return firstFaults.map(({ place, fault }) => `${place}: ${fault}`);
  }

  /** The history with one entry changed. */
  function changed(sequence: number, change: (entry: JsonObject) => JsonObject, history = HISTORY): JsonObject[] {
    return sealed(history).map((entry) => (entry['sequence'] === sequence ? change(entry) : entry));
  }

  it('verifies a chain that holds both', async () => {
    expect(await verify(sealed(UNTOUCHED.slice(0, -1)))).toMatchObject({
      valid: true,
      entries: 6,
      erased: 0,
      notes: [expect.anything()],
    });
  });

  it('verifies an export of a service that knew version 1 alone', async () => {
    const plain = sealed(UNTOUCHED.slice(0, 2));
    for (const entry of plain) {
      delete entry['detailsHash'];
      delete entry['salts'];
    }
    expect(await verify(plain)).toMatchObject({ valid: true });
  });

  it('verifies what is left of an erased record, counts it, and says what cannot be checked', async () => {
    const result = await verify(sealed(HISTORY));
    expect(result).toMatchObject({ valid: true, erased: 4 });
    expect(result['notes']).toContain(
      '2 of the erased entries are of version 1: their audit entries cannot be checked any more.',
    );
    const whole = await verify(sealed(UNTOUCHED));
    expect(result['rootHash']).toBe(whole['rootHash']);
  });

  it.each<[string, JsonObject[], string]>([
    [
      'a content that is missing and erased by nothing',
      changed(3, (entry) => ({ ...entry, state: null }), UNTOUCHED),
      'entry 3: state is null where stateHash is not',
    ],
    [
      'contents erased by an entry about something else',
      changed(3, (entry) => erased(entry, 7), UNTOUCHED),
      'entry 7: is named by other entries as the one that erased their record, but did not erase it',
    ],
    [
      'contents erased by an earlier entry',
      changed(7, (entry) => erased(entry, 6)),
      'entry 7: erased is 6, which is no later entry',
    ],
    [
      'contents erased by an entry that does not follow',
      changed(7, (entry) => erased(entry, 8)),
      'entry 8: erased contents of earlier entries, which name it, and comes after the end: add the export of what follows (after=7)',
    ],
    [
      'two records erased by one entry',
      changed(4, (entry) => erased(entry, 6)),
      'entry 4: erased is 6, which other entries name for another record',
    ],
    [
      'contents that are there although their erasure is complete',
      changed(2, (_entry) => sealed(UNTOUCHED)[1] ?? {}),
      'entry 7: says that 4 entries of 1 records lost their contents, but 3 of 1 have',
    ],
    [
      'an erased entry that still has its state',
      changed(3, (entry) => ({ ...entry, state: ENTITY })),
      'entry 3: state is there, but was erased',
    ],
    [
      'an erased entry that still has a reason',
      changed(3, (entry) => ({ ...entry, audit: { ...(entry['audit'] as JsonObject), reason: 'why' } })),
      'entry 3: audit.reason is there, but was erased',
    ],
    [
      'an altered actor of an erased entry',
      changed(3, (entry) => ({ ...entry, audit: { ...(entry['audit'] as JsonObject), outcome: 'denied' } })),
      'entry 3: auditHash does not match audit',
    ],
    [
      'another salt',
      changed(4, (entry) => ({ ...entry, salts: { details: salt(1, 'x'), state: salt(4, 's') } })),
      'entry 4: detailsHash does not match the details',
    ],
    [
      'a salt of another length',
      changed(4, (entry) => ({ ...entry, salts: { details: salt(4, 'd'), state: `${salt(4, 's')}A` } })),
      'entry 4: salts.state is not 16 bytes in base64url',
    ],
    [
      'a salt of no state',
      changed(6, (entry) => ({ ...entry, salts: { details: salt(6, 'd'), state: salt(6, 's') } })),
      'entry 6: salts.state is not null',
    ],
    [
      'salts in version 1',
      changed(1, (entry) => ({ ...entry, salts: { details: null, state: null } })),
      'entry 1: salts is given, but version 1 has none',
    ],
    [
      'another detailsHash',
      changed(4, (entry) => ({ ...entry, detailsHash: 'f'.repeat(64) })),
      'entry 4: auditHash does not match audit',
    ],
  ])('finds %s', async (_, entries, fault) => {
    expect(await faultsOf(entries)).toContain(fault);
  });
});

describeOnSqlite('The offline verifier after an erasure', () => {
  const stage = stageOf(async () => ({ app: await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } }) }));

  it('finds export and database valid, and counts the entries that lost their contents', async () => {
    const { app } = stage;
    const { id } = await createEntity(app);
    await addClaim(app, id);
    await createPolicy(app);
    const { name } = await createAgent(app, { name: 'bot', capabilities: ['send'] });
    const request = { action: 'send', resourceType: 'mail', resourceId: 'a', parameters: { to: 'ada@example.com' } };
    const execution = (await send(app, 'POST', `/api/v1/agents/${name}/execute`, { body: request })).body;
    await send(app, 'POST', `/api/v1/executions/${execution.id}/result`, {
      body: { outcome: 'executed', result: 'sent' },
    });
    await erase(app, { type: 'entity', id }, { type: 'execution', id: execution.id });
    const { location } = app.application.get(Database);
    const database = await runVerifier([location, '--json']);
    const exported = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    const fromExport = await runVerifier(['-', '--json'], exported);
    // Two entries are about the entity, one about its claim, and two about the execution.
    for (const { exitCode, output } of [database, fromExport])
      expect([exitCode, JSON.parse(output)]).toMatchObject([0, { valid: true, erased: 5 }]);
  });
});
