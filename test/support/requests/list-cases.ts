const TIME = '2026-11-20T06:18:03.123Z';
const ENTRIES = { entityId: 'x', agentId: 'x', subjectId: 'x', action: 'x', from: TIME, to: TIME };

/** Every list that may be long, and a value for each of its filters. There are a hundred webhooks at most. */
const LISTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  entities: { type: 'x', name: 'x' },
  'entities/ENTITY/claims': { predicate: 'x' },
  agents: { capability: 'x', role: 'x', status: 'active', kind: 'human', team: 'x' },
  executions: { agentId: 'x', action: 'x', outcome: 'executed', from: TIME, to: TIME, team: 'x' },
  decisions: { status: 'proposed', riskLevel: 'high', type: 'x', proposedBy: 'x', team: 'x' },
  'api-keys': { status: 'active', agentId: 'x' },
  policies: { name: 'x', status: 'active', effect: 'allow', team: 'x' },
  grants: { agentId: 'x', status: 'active', decisionId: 'x' },
  stops: { status: 'active' },
  audit: { ...ENTRIES, outcome: 'denied', actorId: 'key_x' },
  provenance: { ...ENTRIES, after: '5' },
};

/** Each single filter, and each pair. */
function filterSets(filters: Readonly<Record<string, string>>): [names: string, query: string][] {
  const names = Object.keys(filters);
  const sets = names.flatMap((first, index) => [[first], ...names.slice(index + 1).map((second) => [first, second])]);
  return [[], ...sets].map((set) => [set.join(' and ') || 'no filter', set.map((n) => `${n}=${filters[n]}`).join('&')]);
}

/** Every list without a filter, with each, and with each pair. */
export const LIST_CASES = Object.entries(LISTS).flatMap(([path, filters]) =>
  filterSets(filters).map(([names, query]) => ({ path, names, query })),
);
