/** Time, in ISO 8601, in which a person could review with one key or token; without `until` it has not ended. */
export interface Tenure {
  readonly agentId: string;
  readonly from: string;
  readonly until: string | null;
}

/** True if two different people could have reviewed at the same time. */
export function haveOverlapped(tenures: readonly Tenure[]): boolean {
  const inOrder = [...tenures].sort((one, other) => (one.from < other.from ? -1 : 1));
  /** Latest end of the tenures so far, by person. */
  const ends = new Map<string, string | null>();
  for (const { agentId, from, until } of inOrder) {
    for (const [other, end] of ends) if (other !== agentId && (end === null || end > from)) return true;
    const before = ends.get(agentId);
    ends.set(agentId, before === undefined ? until : laterOf(before, until));
  }
  return false;
}

function laterOf(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return null;
  return one > other ? one : other;
}
