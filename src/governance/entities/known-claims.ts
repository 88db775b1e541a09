import { Injectable } from '@nestjs/common';
import type { JsonObject, JsonScalar } from '../../core/json/json-value';
import { Database } from '../../ledger/database/database';
import type { Dialect } from '../../ledger/database/dialect';
import type { AskedRows, RowsAsked } from '../../ledger/records/rows-asked';
import { RecordHistory } from '../../ledger/record-history';
import type { ClaimKey, KnownClaim } from '../policies/conditions/condition';
import { CLAIM, predicateKeyOf } from './claim.entity';
import { ENTITY } from './governed-entity.entity';

/** Of more claims of one predicate nothing is known. */
const MOST_CLAIMS = 100;
/** Most past claims that are read for those of one predicate. */
const MOST_PAST = 1_000;
const PAST =
  `SELECT "subjectId" AS "id", "state" FROM "ledger_entries" AS added WHERE "entityId" = $1 AND "sequence" <= $2 ` +
  `AND "action" = 'claim.added' AND ("state" IS NULL OR "state" LIKE $3 OR octet_length("state") > length("state")) ` +
  `AND NOT EXISTS (SELECT 1 FROM "ledger_entries" AS removed WHERE removed."subjectId" = added."subjectId" ` +
  `AND removed."action" = 'claim.removed' AND removed."sequence" <= $2) ORDER BY "sequence" LIMIT ${MOST_PAST}`;

/** What is claimed, the oldest first; null if the entity does not exist, or there is too much. */
type Known = readonly KnownClaim[] | null;

interface ClaimRow {
  readonly present: number | string;
  readonly count: number | string;
  readonly id: string | null;
  readonly value: string;
  readonly context: string;
}

/** Reads what is claimed of entities, now or as it was. */
@Injectable()
export class KnownClaims {
  private readonly now: string;

  /** @internal */
  constructor(
    private readonly database: Database,
    private readonly past: RecordHistory,
  ) {
    this.now = claimsSql(database.dialect);
  }

  /** What is known for each key, in this order. */
  async find(read: AskedRows, keys: readonly ClaimKey[]): Promise<readonly Known[]> {
    return knownOf(await read<ClaimRow>(keys.map((key) => this.asked(key))));
  }

  asked({ entityId, predicate }: ClaimKey): RowsAsked {
    const dependsOn = [
      { kind: ENTITY, values: { id: entityId } },
      { kind: CLAIM, values: { entityId } },
    ];
    return { name: 'claims', sql: this.now, key: [entityId, predicate], dependsOn };
  }

  /** What was known. @param upTo the sequence of an entry. */
  async findPast({ entityId, predicate }: ClaimKey, upTo: number): Promise<Known> {
    if ((await this.past.findAfter(ENTITY, entityId, upTo)) === undefined) return null;
    // Canonical JSON has a text in quotation marks as a member alone. A `_` stands for any character. In another spelling the
    // predicate has characters beyond ASCII.
    const member = `%"predicate":${JSON.stringify(predicate).replaceAll('\\', '_')}%`;
    const { points } = this.database;
    const rows = await points.all<{ id: string; state: string | null }>(PAST, [entityId, upTo, member]);
    const claims: KnownClaim[] = [];
    for (const { id, state } of rows) {
      // It was erased, so nobody can tell what it said.
      if (state === null) return null;
      const claim = JSON.parse(state) as PastClaim;
      if (predicateKeyOf(claim.predicate) === predicate) claims.push(knownClaim(id, claim.value, claim.context));
    }
    return rows.length === MOST_PAST || claims.length > MOST_CLAIMS ? null : claims;
  }
}

function knownOf(found: readonly (readonly ClaimRow[])[]): Known[] {
  return found.map((rows) => {
    const [first] = rows;
    if (first === undefined || Number(first.present) === 0 || Number(first.count) > MOST_CLAIMS) return null;
    return rows.flatMap(({ id, value, context }) =>
      id === null ? [] : knownClaim(id, JSON.parse(value) as JsonScalar, JSON.parse(context) as JsonObject),
    );
  });
}

interface PastClaim {
  readonly predicate: string;
  readonly value: JsonScalar;
  readonly context: JsonObject;
}

function knownClaim(id: string, value: JsonScalar, { confidence }: JsonObject): KnownClaim {
  return { id, value, confidence: typeof confidence === 'number' ? confidence : 0 };
}

function claimsSql(dialect: Dialect): string {
  const columns = ['entityId', 'predicateKey'].map(
    (name, index) => `${dialect.jsonAt(index + 1, { name, type: 'text' })} AS "${name}"`,
  );
  const place = `${dialect.jsonAt(0, { name: 'place', type: 'integer' })} AS "place"`;
  const items = `SELECT ${[place, ...columns].join(', ')} FROM ${dialect.jsonElements('$1')}`;
  const meets = (claim: string): string =>
    `${claim}."entityId" = key."entityId" AND ${claim}."predicateKey" = key."predicateKey"`;
  const few = `SELECT 1 FROM "claims" AS one WHERE ${meets('one')} LIMIT ${MOST_CLAIMS + 1}`;
  const counted =
    `SELECT key.*, (SELECT count(*) FROM "entities" WHERE "id" = key."entityId") AS "present", ` +
    `(SELECT count(*) FROM (${few}) AS few) AS "count" FROM (${items}) AS key`;
  return (
    `SELECT key."place", key."present", key."count", claim."id", claim."value", claim."context" FROM (${counted}) AS key ` +
    `LEFT JOIN "claims" AS claim ON ${meets('claim')} AND key."count" <= ${MOST_CLAIMS} ` +
    `ORDER BY key."place", claim."createdSequence"`
  );
}
