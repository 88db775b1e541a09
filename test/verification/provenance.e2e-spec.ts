import type { AuditEntryResponse } from '../../src/evidence/audit/dto/audit-entry.response';
import type { ClaimResponse } from '../../src/governance/entities/dto/entity.dto';
import type { ProvenanceEntryResponse } from '../../src/evidence/provenance/dto/provenance.dto';
import { ActionsModule } from '../support/application/actions.module';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { doEverything, EVERY_ACTION_ENVIRONMENT } from '../support/requests/every-action';
import { addClaim, createEntity } from '../support/application/factories';
import { recomputeChain, type Proof } from './recompute-chain';
import { withoutUnset } from '../support/requests/sealed-form';
import { type Parsed, faults, send } from '../support/application/send';

const PROVENANCE = '/api/v1/provenance';
const VERIFY = `${PROVENANCE}/verify`;
const HASH = /^[0-9a-f]{64}$/;
const SALT = /^[A-Za-z0-9_-]{22}$/;

/** Actions whose entries have no state. */
const REMOVALS = ['entity.deleted', 'claim.removed', 'webhook.deleted'];

describe('Provenance', () => {
  let app: TestApp;
  let entries: ProvenanceEntryResponse[];
  let claim: ClaimResponse;
  let audit: AuditEntryResponse[];

  beforeAll(async () => {
    app = await createTestApp({ modules: [ActionsModule], environment: EVERY_ACTION_ENVIRONMENT });
    await doEverything(app);
    const { id } = await createEntity(app);
    claim = await addClaim(app, id, { value: 0.1, context: { toJSON: 'x', constructor: [1e21, 'é😀', null] } });
    entries = await list('limit=1000');
    audit = (await send(app, 'GET', '/api/v1/audit?order=asc&limit=1000')).body.data;
  });
  afterAll(() => app.close());

  async function list(query: string): Promise<ProvenanceEntryResponse[]> {
    return (await send(app, 'GET', `${PROVENANCE}?${query}`)).body.data;
  }

  it('seals every audit entry by exactly one entry, in the same order', () => {
    expect(entries).toHaveLength(audit.length);
    entries.forEach((entry, index) => {
      const { id, sequence, timestamp, action, subjectType, subjectId } = audit[index] ?? {};
      expect(entry).toEqual({
        v: 2,
        sequence,
        id: expect.stringMatching(/^prv_[0-9A-HJKMNP-TV-Z]{26}$/),
        timestamp,
        action,
        subjectType,
        subjectId,
        auditId: id,
        detailsHash: expect.stringMatching(HASH),
        auditHash: expect.stringMatching(HASH),
        stateHash: REMOVALS.includes(String(action)) ? null : expect.stringMatching(HASH),
        previousHash: entries[index - 1]?.hash ?? '0'.repeat(64),
        hash: expect.stringMatching(HASH),
      });
    });
  });

  it('can be recomputed by anyone from GETs alone, for every kind of record', async () => {
    const { proofs, faults } = await recomputeChain(app);
    expect(faults).toEqual([]);
    expect(proofs).toHaveLength(entries.length);
    expect([...new Set(proofs.map(({ subjectType }) => subjectType))].sort()).toEqual([
      ...['agent', 'api_key', 'claim', 'decision', 'entity', 'execution', 'policy', 'stop', 'webhook'],
    ]);
  });

  it('stores with its entries the states that readers saw', async () => {
    const last = new Map<string, Proof>();
    for (const { sequence } of entries) {
      const proof: Proof = (await send(app, 'GET', `${PROVENANCE}/${sequence}`)).body;
      last.set(proof.subjectId, proof);
    }
    const paths = {
      entity: 'entities',
      agent: 'agents',
      decision: 'decisions',
      policy: 'policies',
      execution: 'executions',
      api_key: 'api-keys',
      stop: 'stops',
      webhook: 'webhooks',
    };
    for (const { subjectType, subjectId, state } of last.values()) {
      if (subjectType === 'claim') continue;
      const { status, body } = await send(
        app,
        'GET',
        `/api/v1/${paths[subjectType as keyof typeof paths]}/${subjectId}`,
      );
      // Only the hash of a secret is sealed; the delivery position of a webhook, and a reviewer's words, are not part
      // of the record.
      const record = { ...body };
      delete record.delivery;
      delete record.rejection;
      const hasSecret = subjectType === 'api_key' || subjectType === 'webhook';
      const publicState = { ...record, ...(hasSecret && { secretHash: (state as Parsed)?.secretHash }) };
      expect(status === 404 ? null : withoutUnset(publicState)).toEqual(state);
    }
  });

  it('stores the state of a claim', async () => {
    const entry = entries.find(({ subjectId }) => subjectId === claim.id);
    expect((await send(app, 'GET', `${PROVENANCE}/${entry?.sequence}`)).body.state).toEqual(claim);
  });

  it('returns one entry with its audit entry and the state it sealed', async () => {
    const { status, body } = await send(app, 'GET', `${PROVENANCE}/2`);
    const { state, salts, ...rest } = body;
    expect(salts).toEqual({ details: expect.stringMatching(SALT), state: expect.stringMatching(SALT) });
    expect({ status, rest }).toEqual({ status: 200, rest: { ...entries[1], audit: audit[1] } });
    expect(state).toMatchObject({ id: entries[1]?.subjectId, name: 'Gateway (EU)', properties: {}, revision: 2 });
  });

  it('returns null as the state of a record that no longer exists', async () => {
    const deletion = entries.find(({ action }) => action === 'entity.deleted');
    expect((await send(app, 'GET', `${PROVENANCE}/${deletion?.sequence}`)).body).toMatchObject({
      state: null,
      stateHash: null,
    });
  });

  it('stores the state even if the entry changed nothing', async () => {
    const refusal = entries.find(({ action }) => action === 'decision.approval_denied');
    const { body } = await send(app, 'GET', `${PROVENANCE}/${refusal?.sequence}`);
    expect(body.state).toMatchObject({ id: refusal?.subjectId, status: 'proposed', reviews: { length: 1 } });
  });

  it.each(['0', '-1', '01', '1.0', '1e0', '9007199254740993', '99999999999999999999', '100000', 'x', '%20', 'prv_1'])(
    'answers 404 for a sequence that names nothing: %s',
    async (sequence) => {
      expect(await send(app, 'GET', `${PROVENANCE}/${sequence}`)).toMatchObject({
        status: 404,
        body: { error: { code: 'NOT_FOUND' } },
      });
    },
  );

  describe('is filtered by', () => {
    it.each(['entityId', 'agentId'] as const)('%s, as in the audit trail', async (member) => {
      const values = [...new Set(audit.map((entry) => entry[member]))].filter((value) => value !== null);
      expect(values.length).toBeGreaterThan(0);
      for (const value of values) {
        const sequences = audit.filter((entry) => entry[member] === value).map(({ sequence }) => sequence);
        const { data, total } = (await send(app, 'GET', `${PROVENANCE}?limit=1000&${member}=${value}`)).body;
        expect(data.map(({ sequence }: ProvenanceEntryResponse) => sequence)).toEqual(sequences);
        expect(total).toBe(sequences.length);
      }
    });

    it.each(['subjectId', 'action'] as const)('%s', async (member) => {
      for (const value of new Set(entries.map((entry) => entry[member]))) {
        expect(await list(`limit=1000&${member}=${value}`)).toEqual(entries.filter((entry) => entry[member] === value));
      }
    });

    it('from and to, both inclusive', async () => {
      const [from, to] = [entries[5]?.timestamp ?? '', entries.at(-5)?.timestamp ?? ''];
      const entriesBetween = entries.filter(({ timestamp }) => timestamp >= from && timestamp <= to);
      expect(await list(`limit=1000&from=${from}&to=${to}`)).toEqual(entriesBetween);
      expect(faults(await send(app, 'GET', `${PROVENANCE}?from=${to}&to=${from}`))).toEqual({
        'query.from': 'must not be later than to',
      });
      expect(Object.keys(faults(await send(app, 'GET', `${PROVENANCE}?from=now&to=2026-13-01`)))).toEqual([
        ...['query.from', 'query.to'],
      ]);
    });

    it('after, a sequence', async () => {
      expect(await list('limit=1000&after=0')).toEqual(entries);
      expect(await list('limit=2&after=7')).toEqual(entries.slice(7, 9));
      expect(await list(`after=7&order=desc&limit=1000`)).toEqual(entries.slice(7).toReversed());
      expect(await list('after=9007199254740991')).toEqual([]);
      expect((await send(app, 'GET', `${PROVENANCE}?after=7&limit=1`)).body.total).toBe(entries.length - 7);
    });

    it.each(['-1', '1.5', 'x', '9007199254740992'])('after, but not %s', async (after) => {
      expect(Object.keys(faults(await send(app, 'GET', `${PROVENANCE}?after=${after}`)))).toEqual(['query.after']);
    });

    it.each(['outcome=success', 'auditId=x'])('nothing else: %s', async (query) => {
      expect((await send(app, 'GET', `${PROVENANCE}?${query}`)).status).toBe(400);
    });
  });

  describe('verification', () => {
    it('reports what it read and where the chain ends', async () => {
      const { length } = await list('limit=1000');
      const head = (await list('order=desc&limit=1'))[0];
      expect(await send(app, 'POST', `${PROVENANCE}/verify`)).toMatchObject({
        status: 200,
        body: {
          valid: true,
          entriesVerified: length,
          brokenLinks: 0,
          invalidHashes: 0,
          head: { sequence: length, hash: head?.hash },
          firstInvalid: null,
        },
      });
    });

    it('is valid for an empty chain', async () => {
      const empty = await createTestApp();
      const { body } = await send(empty, 'POST', `${PROVENANCE}/verify`);
      const listed = (await send(empty, 'GET', PROVENANCE)).body;
      await empty.close();
      expect(body).toEqual({
        valid: true,
        entriesVerified: 0,
        brokenLinks: 0,
        invalidHashes: 0,
        erased: 0,
        head: { sequence: 0, hash: '0'.repeat(64) },
        firstInvalid: null,
        tree: {
          size: 0,
          rootHash: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
          matches: true,
        },
        durationMs: expect.any(Number),
      });
      expect(listed).toEqual({ data: [], total: 0 });
    });

    it('can begin at a given sequence', async () => {
      const { length } = await list('limit=1000');
      const verified = async (body: object): Promise<unknown> => (await send(app, 'POST', VERIFY, { body })).body;
      expect(await verified({ from: 1 })).toMatchObject({ valid: true, entriesVerified: length });
      expect(await verified({ from: 3 })).toMatchObject({ valid: true, entriesVerified: length - 2 });
      expect(await verified({ from: null })).toMatchObject({ valid: true, entriesVerified: length });
      expect(await verified({})).toMatchObject({ valid: true, entriesVerified: length });
    });

    it.each([0, -1, 1.5, '3', true, [3], 2 ** 53])('does not begin at %p', async (from) => {
      expect(faults(await send(app, 'POST', VERIFY, { body: { from } }))).toEqual({ from: expect.any(String) });
    });

    it('takes no other members', async () => {
      expect(faults(await send(app, 'POST', VERIFY, { body: { to: 1 } }))).toEqual({ to: expect.any(String) });
      expect((await send(app, 'POST', `${VERIFY}?from=1`)).status).toBe(400);
    });

    it('answers concurrent calls correctly, wherever each begins', async () => {
      const { length } = await list('limit=1000');
      const begins = [1, 2, 1, 3, 2, 1, length];
      const answers = await Promise.all(begins.map((from) => send(app, 'POST', VERIFY, { body: { from } })));
      expect(answers.map(({ body }) => body.entriesVerified)).toEqual(begins.map((from) => length - from + 1));
    });
  });
});
