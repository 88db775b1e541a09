import type { Claim } from '../../api/types.js';

/** The claims of one kind about an entity, and what they mean for a request. */
export interface Evidence {
  readonly predicate: string;
  readonly claims: readonly Claim[];
  /** Number of different values. */
  readonly values: number;
  /** The claims whose value is in the request. */
  readonly used: readonly Claim[];
}

/**
 * Sorts claims by what they are about, contradictory ones first.
 * @param requestValues the values in the request, as text
 */
export function evidenceIn(claims: readonly Claim[], requestValues: ReadonlySet<string>): readonly Evidence[] {
  const predicates = [...new Set(claims.map(({ predicate }) => predicate))];
  const evidence = predicates.map((predicate) => {
    const same = claims.filter((claim) => claim.predicate === predicate);
    return {
      predicate,
      claims: same,
      values: new Set(same.map(({ value }) => value)).size,
      // A `true` in the request may mean anything.
      used: same.filter(({ value }) => typeof value !== 'boolean' && requestValues.has(String(value))),
    };
  });
  return [...evidence.filter(({ values }) => values > 1), ...evidence.filter(({ values }) => values === 1)];
}

/** True if another value is more certain. */
export function isDoubtful(claim: Claim, { claims }: Evidence): boolean {
  return claims.some(
    (claimToCompare) => claimToCompare.value !== claim.value && confidenceOf(claimToCompare) > confidenceOf(claim),
  );
}

/** A claim that states no confidence counts as the least certain. */
export function confidenceOf({ context: { confidence } }: Claim): number {
  return typeof confidence === 'number' ? confidence : 0;
}
