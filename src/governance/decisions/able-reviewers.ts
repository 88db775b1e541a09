import type { FillableGroups } from '../policies/approval/approver-groups';

interface AbleReviewer {
  readonly agent: { readonly id: string };
  /** Agent in whose place the reviewer reviews: itself, or another person by a delegation. */
  readonly place: { readonly id: string };
  /** The groups of the decision that the reviewer could fill. */
  readonly fillable: FillableGroups;
}

/**
 * Reviewers who could approve together: each reviewer once, and each place once, by the first reviewer added for it.
 */
export class AbleReviewers {
  private readonly places = new Set<string>();
  private readonly byAgent = new Map<string, FillableGroups>();

  /** The groups that each reviewer could fill. */
  get groups(): Iterable<FillableGroups> {
    return this.byAgent.values();
  }

  /** False if the place was offered before. */
  add({ agent, place, fillable }: AbleReviewer): boolean {
    if (this.places.has(place.id)) return false;
    this.places.add(place.id);
    this.byAgent.set(agent.id, [...new Set([...(this.byAgent.get(agent.id) ?? []), ...fillable])]);
    return true;
  }
}
