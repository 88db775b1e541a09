import type { JsonScalar } from '../../core/json/json-value';
import type { Dialect } from '../../ledger/database/dialect';
import type { SqlSessions } from '../../ledger/database/sql-connection';
import { predicateKeyOf } from '../entities/claim.entity';
import type { ClaimFact } from '../policies/conditions/condition';

/** Most claims of a predicate; with more, the predicate counts as unknown. */
const MAX_CLAIMS = 100;
/**
 * Most bytes of the JSON of a claim's value, and of all contexts of a predicate: with more, the predicate counts as
 * unknown.
 */
const MAX_VALUE_BYTES = 1_000;
const MAX_CONTEXT_BYTES = 65_536;
/** Most keys of one statement, which parses all contexts of the claims of each key. */
export const MAX_CLAIM_KEYS = 100;
/** Most past claims read at once. */
const CHUNK_SIZE = 100;

/** Claims, the oldest first; null if the entity does not exist, or there are too many claims. */
export type ClaimFacts = readonly ClaimFact[] | null;

interface ClaimContent {
  /** JSON; null if the value or a context is too long. */
  readonly value: string | null;
  /** JSON of the member `confidence` of the context; null if there is none. */
  readonly confidence: string | null;
}

export interface ClaimRow extends ClaimContent {
  readonly present: number | string;
  /** Bytes of the contexts of all claims; null if there are too many claims. */
  readonly bytes: number | string | null;
  readonly id: string | null;
}

interface PastClaimRow extends ClaimContent {
  readonly sequence: number;
  /** Bytes of the context; null if the claim was erased. */
  readonly bytes: number | string | null;
  readonly id: string;
  /** JSON; null if the claim was erased. */
  readonly predicate: string | null;
}

interface PastClaimKeys {
  readonly entityId: string;
  readonly predicates: readonly string[];
  /** The claims are read as they were after the entry with this sequence. */
  readonly upTo: number;
}

/** SQL for the claims of entities as they are now. */
export function claimsSql(dialect: Dialect): string {
  const columns = ['entityId', 'predicateKey'].map(
    (name, index) => `${dialect.jsonAt(index + 1, { name, type: 'text' })} AS "${name}"`,
  );
  const position = `${dialect.jsonAt(0, { name: 'place', type: 'integer' })} AS "place"`;
  const items = `SELECT ${[position, ...columns].join(', ')} FROM ${dialect.jsonElements('$1')}`;
  const meets = (claim: string): string =>
    `${claim}."entityId" = key."entityId" AND ${claim}."predicateKey" = key."predicateKey"`;
  const few = `SELECT octet_length(one."context") AS bytes FROM "claims" AS one WHERE ${meets('one')} LIMIT ${MAX_CLAIMS + 1}`;
  const bytes = `SELECT CASE WHEN count(*) <= ${MAX_CLAIMS} THEN coalesce(sum(few.bytes), 0) END FROM (${few}) AS few`;
  const counted =
    `SELECT key.*, (SELECT count(*) FROM "entities" WHERE "id" = key."entityId") AS "present", ` +
    `(${bytes}) AS "bytes" FROM (${items}) AS key`;
  return (
    `SELECT key."place", key."present", key."bytes", claim."id", ${contentSql(dialect, 'claim', hasShortValue('claim'))} FROM (${counted}) AS key ` +
    `LEFT JOIN "claims" AS claim ON ${meets('claim')} AND key."bytes" <= ${MAX_CONTEXT_BYTES} ` +
    `ORDER BY key."place", claim."createdSequence"`
  );
}

/** SQL for the next claims of the entity `$1` after the entry `$3`, as they were after the entry `$2`. */
export function pastClaimsSql(dialect: Dialect): string {
  const members = ['predicate', 'value', 'context'].map(
    (name) => `${dialect.jsonMember('added."state"', name)} AS "${name}"`,
  );
  const past =
    `SELECT "sequence", "subjectId" AS "id", ${members.join(', ')} FROM "ledger_entries" AS added WHERE "entityId" = $1 ` +
    `AND "sequence" <= $2 AND "sequence" > $3 AND "action" = 'claim.added' AND NOT EXISTS (SELECT 1 FROM "ledger_entries" AS removed ` +
    `WHERE removed."subjectId" = added."subjectId" AND removed."action" = 'claim.removed' AND removed."sequence" <= $2) ` +
    `ORDER BY "sequence" LIMIT ${CHUNK_SIZE}`;
  const bytes = 'octet_length(past."context")';
  const isShort = `${hasShortValue('past')} AND ${bytes} <= ${MAX_CONTEXT_BYTES}`;
  return (
    `SELECT "sequence", "id", "predicate", ${bytes} AS "bytes", ${contentSql(dialect, 'past', isShort)} ` +
    `FROM (${past}) AS past ORDER BY "sequence"`
  );
}

function hasShortValue(claim: string): string {
  return `octet_length(${claim}."value") <= ${MAX_VALUE_BYTES}`;
}

/**
 * Returns SQL for the content of a claim, which is null if it is too long. @param isShort SQL condition for content
 * that is not too long
 */
function contentSql(dialect: Dialect, claim: string, isShort: string): string {
  const confidence = dialect.jsonMember(`${claim}."context"`, 'confidence');
  return (
    `CASE WHEN ${isShort} THEN ${claim}."value" END AS "value", ` +
    `CASE WHEN ${isShort} THEN ${confidence} END AS "confidence"`
  );
}

/** Returns the claims of the rows of one key. */
export function claimFactsOf(rows: readonly ClaimRow[]): ClaimFacts {
  const [first] = rows;
  if (first === undefined || Number(first.present) === 0 || first.bytes === null) return null;
  if (Number(first.bytes) > MAX_CONTEXT_BYTES) return null;
  const claims: ClaimFact[] = [];
  for (const { id, ...content } of rows) {
    if (id === null) continue;
    const claim = claimFact(id, content);
    if (claim === null) return null;
    claims.push(claim);
  }
  return claims;
}

/**
 * Reads the past claims of an entity, in chunks, until there are too many of each predicate.
 * @param sql SQL of {@link pastClaimsSql}
 * @returns claims by predicate, without predicates whose claims are unknown
 */
export async function pastClaims(
  points: Pick<SqlSessions, 'all'>,
  sql: string,
  { entityId, predicates, upTo }: PastClaimKeys,
): Promise<ReadonlyMap<string, ClaimFacts>> {
  const claims = new Map(predicates.map((predicate) => [predicate, [] as ClaimFact[]]));
  const contextBytes = new Map<string, number>();
  let rows: PastClaimRow[];
  let last = 0;
  do {
    rows = await points.all<PastClaimRow>(sql, [entityId, upTo, last]);
    for (const { sequence, id, predicate: json, bytes, ...content } of rows) {
      last = sequence;
      // The claim was erased, so nobody knows what it was about.
      if (json === null) return new Map();
      const predicate = predicateKeyOf(JSON.parse(json) as string);
      const claim = claimFact(id, content);
      const own = claims.get(predicate);
      const sum = (contextBytes.get(predicate) ?? 0) + Number(bytes);
      contextBytes.set(predicate, sum);
      if (claim === null || own?.length === MAX_CLAIMS || sum > MAX_CONTEXT_BYTES) claims.delete(predicate);
      else own?.push(claim);
    }
  } while (rows.length === CHUNK_SIZE && claims.size > 0);
  return claims;
}

/** Returns a claim; null if it is too long. */
function claimFact(id: string, { value, confidence: json }: ClaimContent): ClaimFact | null {
  if (value === null) return null;
  const confidence: unknown = json === null ? null : JSON.parse(json);
  return { id, value: JSON.parse(value) as JsonScalar, confidence: typeof confidence === 'number' ? confidence : 0 };
}
