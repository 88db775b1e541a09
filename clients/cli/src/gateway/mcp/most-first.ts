/**
 * Sorts things that agents hold: those of the agent that holds most come first. Things of one agent keep their order.
 */
export function mostFirst<Held>(held: readonly Held[], agentOf: (one: Held) => string): Held[] {
  const counts = new Map<string, number>();
  for (const agentId of held.map(agentOf)) counts.set(agentId, (counts.get(agentId) ?? 0) + 1);
  const countOf = (one: Held): number => counts.get(agentOf(one)) ?? 0;
  return [...held].sort((left, right) => countOf(right) - countOf(left));
}
