import type { Actor } from '../../ledger/kinds/caller';

/** A request that changes the rules, as its decision seals it. */
export interface Change {
  readonly method: string;
  readonly path: string;
  /** Hex SHA-256 of the RFC 8785 form of the body, `{}` without one. */
  readonly bodyHash: string;
  /** What it does, in a sentence. */
  readonly summary: string;
  /** The `rules` in force when it was proposed; only of changes of policies. */
  readonly rules?: string;
  /** ISO 8601: when it was made; absent until then. */
  readonly madeAt?: string;
}

/** Who authenticated when the change was proposed. */
export type ChangeActor = Pick<Actor, 'type' | 'id'>;
