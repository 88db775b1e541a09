import { canonicalize } from 'json-canonicalize';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT } from '../../src/governance/agents/agent.entity';
import { API_KEY } from '../../src/governance/api-keys/api-key.entity';
import type { AuditEntryResponse } from '../../src/evidence/audit/dto/audit-entry.response';
import { ERASURE } from '../../src/evidence/erasures/erasure.entity';
import { RESTORATION } from '../../src/evidence/checkpoints/restorations';
import { SQLITE_DIALECT } from '../../src/ledger/database/sqlite/sqlite-database';
import { DECISION } from '../../src/governance/decisions/decision.entity';
import { DELEGATION } from '../../src/governance/delegations/delegation.entity';
import { GRANT } from '../../src/governance/decisions/grants/grant.entity';
import { PASSKEY } from '../../src/governance/passkeys/passkey.entity';
import { CLAIM } from '../../src/governance/entities/claim.entity';
import { ENTITY } from '../../src/governance/entities/governed-entity.entity';
import { EXECUTION } from '../../src/governance/executions/execution.entity';
import {
  auditText,
  detailsText,
  GENESIS_HASH,
  hashesMatch,
  seal,
  sealText,
  stateText,
} from '../../src/ledger/chain/hash-chain';
import type { StoredEntry } from '../../src/ledger/chain/stored-entry';
import { RecordCodec } from '../../src/ledger/records/record-codec';
import { POLICY } from '../../src/governance/policies/policy.entity';
import type { GovernedRow } from '../../src/ledger/kinds/record-kind';
import { STOP } from '../../src/governance/stops/stop.entity';
import type { ProvenanceEntryResponse } from '../../src/evidence/provenance/dto/provenance.dto';
import { WEBHOOK } from '../../src/evidence/webhooks/webhook.entity';
import { canonicalHash } from './recompute-chain';

interface Vector {
  readonly state: GovernedRow | null;
  /** Salts, which entries of version 2 have. */
  readonly salts?: { readonly details: string; readonly state: string | null };
  readonly detailsText?: string;
  readonly stateText: string | null;
  readonly audit: AuditEntryResponse;
  readonly auditText: string;
  readonly provenance: ProvenanceEntryResponse;
  readonly provenanceText: string;
}

const [first, second] = [1, 2].map((version) => {
  const path = join(__dirname, `../../docs/vectors/hashed-forms-v${version}.json`);
  return (JSON.parse(readFileSync(path, 'utf8')) as { entries: Vector[] }).entries;
}) as [Vector[], Vector[]];
/** Kinds that entries of version 1 can be about. */
const FIRST_KINDS = [AGENT, API_KEY, CLAIM, DECISION, ENTITY, EXECUTION, POLICY, RESTORATION, WEBHOOK];
const KINDS = [...FIRST_KINDS, DELEGATION, ERASURE, GRANT, PASSKEY, STOP];
/** Members that no entry of version 1 has; with its kind where another one has a member of the name. */
const SINCE_SECOND = [
  ...['erased', 'traceId', 'onBehalfOf', 'run', 'via', 'principals', 'observeUntil', 'observed', 'limits'],
  ...['format', 'detail', 'buttons', 'webhook.approvers', 'slackId', 'directory', 'team'],
  ...['grant', 'grantId', 'instead', 'change', 'actor'],
];
const CODECS = new Map(KINDS.map((kind) => [kind.subjectType, new RecordCodec(kind, SQLITE_DIALECT)]));

/** Values for columns that no answer shows, whose content is not hashed. */
const UNHASHED = { text: 'not hashed', integer: 7, json: ['not hashed'] };

/** The text of a record that the ledger would hash. */
function encodedState({ state, audit }: Vector): string | null {
  const codec = CODECS.get(audit.subjectType);
  if (state === null || codec === undefined) return null;
  const unset = codec.kind.laterMembers ?? {};
  const unshown = Object.fromEntries(
    codec.columns.map(({ name, type }) => [name, name in unset ? unset[name] : UNHASHED[type]]),
  );
  return codec.encode(Object.assign(unshown, state)).state;
}

/** The entry as the service stores it. */
function stored(vector: Vector): StoredEntry {
  const { audit, provenance, salts } = vector;
  const { v, sequence, id, auditHash, stateHash, previousHash, hash } = provenance;
  const { timestamp, action, actor, agentId, entityId, subjectType, subjectId, outcome, reason, requestId, ip } = audit;
  return {
    ...{ v, sequence, id, auditId: audit.id, timestamp, action, actorType: actor.type, actorId: actor.id },
    ...{ agentId, entityId, subjectType, subjectId, outcome, reason, requestId, ip },
    details: canonicalize(audit.details),
    state: encodedState(vector),
    detailsSalt: salts?.details ?? null,
    stateSalt: salts?.state ?? null,
    detailsHash: provenance.detailsHash ?? null,
    ...{ auditHash, stateHash, previousHash, hash, erased: null },
  };
}

describe.each(first)('Vector of version 1, $audit.sequence, $audit.action', (vector) => {
  const { state, audit, provenance } = vector;

  it('is consistent according to an independent library', () => {
    const { hash, ...sealed } = provenance;
    expect(vector.stateText).toBe(state === null ? null : canonicalize(state));
    expect(provenance.stateHash).toBe(state === null ? null : canonicalHash(state));
    expect(vector.auditText).toBe(canonicalize(audit));
    expect(provenance.auditHash).toBe(canonicalHash(audit));
    expect(vector.provenanceText).toBe(canonicalize(sealed));
    expect(hash).toBe(canonicalHash(sealed));
  });

  it("has the service's texts, whose hashes match", () => {
    const entry = stored(vector);
    expect(encodedState(vector)).toBe(vector.stateText);
    expect(auditText(entry)).toBe(vector.auditText);
    expect(sealText(entry)).toBe(vector.provenanceText);
    expect(hashesMatch(entry)).toBe(true);
  });
});

describe.each(second)('Vector of version 2, $audit.sequence, $audit.action', (vector) => {
  const { state, audit, provenance, salts } = vector;

  it('is consistent according to an independent library', () => {
    const { hash, detailsHash, ...sealed } = provenance;
    const { details, ip, reason, requestId, ...rest } = audit;
    const salted = { details, ip, reason, requestId, salt: salts?.details };
    const saltedState = state === null ? null : { salt: salts?.state, state };
    expect(vector.stateText).toBe(saltedState === null ? null : canonicalize(saltedState));
    expect(provenance.stateHash).toBe(saltedState === null ? null : canonicalHash(saltedState));
    expect(vector.detailsText).toBe(canonicalize(salted));
    expect(detailsHash).toBe(canonicalHash(salted));
    expect(vector.auditText).toBe(canonicalize({ ...rest, detailsHash }));
    expect(provenance.auditHash).toBe(canonicalHash({ ...rest, detailsHash }));
    expect(vector.provenanceText).toBe(canonicalize(sealed));
    expect(hash).toBe(canonicalHash(sealed));
  });

  it("has the service's texts", () => {
    const entry = stored(vector);
    const text = encodedState(vector);
    expect(text === null ? null : stateText(text, entry.stateSalt)).toBe(vector.stateText);
    expect(detailsText(entry)).toBe(vector.detailsText);
    expect(auditText(entry)).toBe(vector.auditText);
    expect(sealText(entry)).toBe(vector.provenanceText);
  });

  it("has the service's seal for the entry", () => {
    const { v, detailsHash, auditHash, stateHash, previousHash, hash, erased, ...unsealed } = stored(vector);
    const sealed = seal(unsealed, previousHash);
    expect(sealed).toEqual({ ...unsealed, v, detailsHash, auditHash, stateHash, previousHash, hash, erased });
    expect(hashesMatch(sealed)).toBe(true);
  });
});

describe.each([
  { version: 1, entries: first, kinds: FIRST_KINDS, unknown: SINCE_SECOND },
  { version: 2, entries: second, kinds: KINDS, unknown: [] as string[] },
])('The vectors of version $version', ({ entries, kinds, unknown }) => {
  it('form a chain from the genesis hash on', () => {
    const before = [GENESIS_HASH, ...entries.map(({ provenance }) => provenance.hash)];
    expect(entries.map(({ provenance }) => provenance.previousHash)).toEqual(before.slice(0, -1));
  });

  it('contain every kind of record with every hashed member', () => {
    for (const { subjectType, hashedMembers, laterMembers = {} } of kinds) {
      const states = entries.flatMap(({ audit, state }) => (audit.subjectType === subjectType && state ? [state] : []));
      const memberNames = states.map((state) => Object.keys(state));
      const later = Object.keys(laterMembers).filter(
        (name) => !unknown.includes(name) && !unknown.includes(`${subjectType}.${name}`),
      );
      expect(memberNames.length).toBeGreaterThan(0);
      for (const names of memberNames)
        expect(names.filter((name) => !later.includes(name)).sort()).toEqual([...hashedMembers].sort());
      expect(later.filter((name) => !memberNames.flat().includes(name))).toEqual([]);
    }
  });

  it('cover a removed record, every type of actor, and absent values', () => {
    expect(entries.some(({ state }) => state === null)).toBe(true);
    expect(new Set(entries.map(({ audit }) => audit.actor.type))).toEqual(new Set(['api_key', 'token', 'system']));
    expect(entries.some(({ audit }) => audit.requestId === null && audit.ip === null)).toBe(true);
  });
});
