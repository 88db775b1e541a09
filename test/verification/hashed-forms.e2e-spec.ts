import { canonicalize } from 'json-canonicalize';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT } from '../../src/governance/agents/agent.entity';
import { API_KEY } from '../../src/governance/api-keys/api-key.entity';
import type { AuditEntryResponse } from '../../src/evidence/audit/dto/audit-entry.response';
import { RESTORATION } from '../../src/evidence/checkpoints/restorations';
import { SQLITE_DIALECT } from '../../src/ledger/database/sqlite/sqlite-dialect';
import { DECISION } from '../../src/governance/decisions/decision.kind';
import { CLAIM } from '../../src/governance/entities/claim.entity';
import { ENTITY } from '../../src/governance/entities/governed-entity.entity';
import { EXECUTION } from '../../src/governance/executions/execution.entity';
import { auditText, GENESIS_HASH, hashesMatch, seal, sealText } from '../../src/ledger/chain/hash-chain';
import { RecordCodec } from '../../src/ledger/records/record-codec';
import { POLICY } from '../../src/governance/policies/policy.entity';
import type { GovernedRow } from '../../src/ledger/record-kind';
import type { ProvenanceEntryResponse } from '../../src/evidence/provenance/dto/provenance-entry.response';
import { WEBHOOK } from '../../src/evidence/webhooks/webhook.entity';
import { canonicalHash } from './recompute-chain';

interface Vector {
  readonly state: GovernedRow | null;
  readonly stateText: string | null;
  readonly audit: AuditEntryResponse;
  readonly auditText: string;
  readonly provenance: ProvenanceEntryResponse;
  readonly provenanceText: string;
}

const PATH = join(__dirname, '../../docs/vectors/hashed-forms-v1.json');
const { entries } = JSON.parse(readFileSync(PATH, 'utf8')) as { entries: Vector[] };
const KINDS = [AGENT, API_KEY, CLAIM, DECISION, ENTITY, EXECUTION, POLICY, RESTORATION, WEBHOOK];
const CODECS = new Map(KINDS.map((kind) => [kind.subjectType, new RecordCodec(kind, SQLITE_DIALECT)]));

/** Values for columns that no answer shows, whose content is not hashed. */
const UNSHOWN = { text: 'not hashed', integer: 7, json: ['not hashed'] };

/** The text of a record that the ledger would hash. */
function encodedState({ state, audit }: Vector): string | null {
  const codec = CODECS.get(audit.subjectType);
  if (state === null || codec === undefined) return null;
  const unset = codec.kind.laterMembers ?? {};
  const unshown = Object.fromEntries(
    codec.columns.map(({ name, type }) => [name, name in unset ? unset[name] : UNSHOWN[type]]),
  );
  return codec.encode(Object.assign(unshown, state)).state;
}

describe.each(entries)('Vector $audit.sequence, $audit.action', (vector) => {
  const { state, audit, provenance } = vector;
  const unsealed = {
    sequence: provenance.sequence,
    id: provenance.id,
    auditId: audit.id,
    timestamp: audit.timestamp,
    action: audit.action,
    actorType: audit.actor.type,
    actorId: audit.actor.id,
    agentId: audit.agentId,
    entityId: audit.entityId,
    subjectType: audit.subjectType,
    subjectId: audit.subjectId,
    outcome: audit.outcome,
    reason: audit.reason,
    details: canonicalize(audit.details),
    requestId: audit.requestId,
    ip: audit.ip,
    state: encodedState(vector),
  };

  it('is consistent according to an independent library', () => {
    const { hash, ...sealed } = provenance;
    expect(vector.stateText).toBe(state === null ? null : canonicalize(state));
    expect(provenance.stateHash).toBe(state === null ? null : canonicalHash(state));
    expect(vector.auditText).toBe(canonicalize(audit));
    expect(provenance.auditHash).toBe(canonicalHash(audit));
    expect(vector.provenanceText).toBe(canonicalize(sealed));
    expect(hash).toBe(canonicalHash(sealed));
  });

  it("has the service's text for the state", () => {
    expect(encodedState(vector)).toBe(vector.stateText);
  });

  it("has the service's text for the audit entry", () => {
    expect(auditText(unsealed)).toBe(vector.auditText);
  });

  it("has the service's seal for the entry", () => {
    const sealed = seal(unsealed, provenance.previousHash);
    const { auditHash, stateHash, previousHash, hash } = provenance;
    expect(sealed).toEqual({ ...unsealed, v: 1, auditHash, stateHash, previousHash, hash });
    expect(sealText(sealed)).toBe(vector.provenanceText);
    expect(hashesMatch(sealed)).toBe(true);
  });
});

describe('The vectors', () => {
  it('form a chain from the genesis hash on', () => {
    const before = [GENESIS_HASH, ...entries.map(({ provenance }) => provenance.hash)];
    expect(entries.map(({ provenance }) => provenance.previousHash)).toEqual(before.slice(0, -1));
  });

  it('contain every kind of record with every hashed member', () => {
    for (const { subjectType, hashedMembers, laterMembers = {} } of KINDS) {
      const states = entries.flatMap(({ audit, state }) => (audit.subjectType === subjectType && state ? [state] : []));
      const shown = states.map((state) => Object.keys(state));
      const later = Object.keys(laterMembers);
      expect(shown.length).toBeGreaterThan(0);
      for (const names of shown)
        expect(names.filter((name) => !later.includes(name)).sort()).toEqual([...hashedMembers].sort());
      expect(later.filter((name) => !shown.flat().includes(name))).toEqual([]);
    }
  });

  it('cover a removed record, every type of actor, and absent values', () => {
    expect(entries.some(({ state }) => state === null)).toBe(true);
    expect(new Set(entries.map(({ audit }) => audit.actor.type))).toEqual(new Set(['api_key', 'token', 'system']));
    expect(entries.some(({ audit }) => audit.requestId === null && audit.ip === null)).toBe(true);
  });
});
