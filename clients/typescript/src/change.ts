import type { Method, Schemas } from './api-types.js';
import { GovernanceError } from './governance-error.js';

const DECISIONS = '/api/v1/decisions';

/** The decision on a change that needs a second person. */
export type ChangeDecision = Schemas['DecisionResponse'];

/** Waits for the second person in place of the caller. */
export interface ChangeWaits {
  /** Resolves once the change is approved and may be made. @throws whatever ends the wait */
  readonly approval: (decision: ChangeDecision) => Promise<void>;
  /** Called once the change is made. */
  readonly made?: (decision: ChangeDecision) => void;
}

/**
 * Nothing has changed: a second person has to approve it first (`FOUR_EYES`). Once the decision is approved, repeat the
 * same request with the option `change`, which is the id of the decision.
 */
export class ChangePending extends GovernanceError {
  override readonly name = 'ChangePending';
  /** Path of the decision. */
  readonly location: string;

  constructor(readonly decision: ChangeDecision) {
    const { id, change } = decision;
    super(
      `${change?.summary ?? 'The change'} Nothing has changed yet: a second person has to approve the decision ${id} first. ` +
        'Then repeat the same request with its id as `change`.',
      { code: 'CHANGE_PENDING', status: 202, decisionId: id },
    );
    this.location = `${DECISIONS}/${id}`;
  }
}

/** Returns the decision on a change, if it came in place of the request's own answer; otherwise null. */
export function pendingChange(method: Method, template: string, answer: unknown): ChangeDecision | null {
  if (method === 'get' || template.startsWith(DECISIONS) || typeof answer !== 'object' || answer === null) return null;
  const { type, change, riskLevel } = answer as Partial<ChangeDecision>;
  const isChange = type === 'change' && riskLevel !== undefined && change?.bodyHash !== undefined;
  return isChange ? (answer as ChangeDecision) : null;
}
