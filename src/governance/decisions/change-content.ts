import type { Actor } from '../../ledger/kinds/caller';

/** A request for a change, as its decision seals it. */
export interface Change {
  readonly method: string;
  readonly path: string;
  /** Hex SHA-256 of the RFC 8785 form of the body, which is `{}` if there is none. */
  readonly bodyHash: string;
  /** Effect of the request in one sentence. */
  readonly summary: string;
  /** `rules` in force when it was proposed; only for changes of policies. */
  readonly rules?: string;
  /** Time of the change, in ISO 8601; absent until then. */
  readonly madeAt?: string;
}

/** Authenticated party when the change was proposed. */
export type ChangeActor = Pick<Actor, 'type' | 'id'>;
