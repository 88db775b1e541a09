import type { Session } from '../../api/session.js';
import { type Decision, GovernanceError } from '../../api/types.js';

/** The results of a review of several decisions. */
export interface ReviewResults {
  /** The reviewed decisions, as they are after the review. */
  readonly reviewed: Decision[];
  /** Decisions that the service refused to review. */
  readonly refusals: { readonly decision: Decision; readonly message: string }[];
  /** Why the rest was not sent, or may not have arrived; null if everything was answered. */
  fault: unknown;
}

/** Statuses by which the service refuses a single review; others concern the whole request. */
const REFUSED = [403, 404, 409];

/** The reviewer, and a comment that each decision gets. */
export interface ReviewWords {
  readonly approverId: string;
  readonly comment?: string;
}

/**
 * Approves all decisions with one request. If the service refuses one of them, it approves none of that request: its
 * halves are then sent, until each refused decision is known and all others are approved.
 */
export async function approveAll(
  { promptClient }: Session,
  decisions: readonly Decision[],
  words: ReviewWords,
): Promise<ReviewResults> {
  const results: ReviewResults = { reviewed: [], refusals: [], fault: null };
  const approve = async (part: readonly Decision[]): Promise<void> => {
    if (results.fault !== null) return;
    try {
      const body = { ...words, decisions: part.map(({ id, actionHash }) => ({ id, actionHash })) };
      results.reviewed.push(...(await promptClient.post('/api/v1/decisions/approve', { body })).data);
    } catch (error) {
      const [decision, ...others] = part;
      if (!isRefusal(error) || decision === undefined) results.fault = error;
      else if (others.length === 0) results.refusals.push({ decision, message: error.message });
      else {
        const middle = Math.ceil(part.length / 2);
        await approve(part.slice(0, middle));
        await approve(part.slice(middle));
      }
    }
  };
  await approve(decisions);
  return results;
}

/** Rejects the decisions one after the other. */
export async function rejectAll(
  { patientClient }: Session,
  decisions: readonly Decision[],
  body: ReviewWords,
): Promise<ReviewResults> {
  const results: ReviewResults = { reviewed: [], refusals: [], fault: null };
  for (const decision of decisions) {
    try {
      const path = { id: decision.id };
      results.reviewed.push(await patientClient.post('/api/v1/decisions/{id}/reject', { path, body }));
    } catch (error) {
      if (!isRefusal(error)) {
        results.fault = error;
        break;
      }
      results.refusals.push({ decision, message: error.message });
    }
  }
  return results;
}

function isRefusal(error: unknown): error is GovernanceError {
  return error instanceof GovernanceError && REFUSED.includes(error.status ?? 0) && !error.isOutcomeUnknown;
}
