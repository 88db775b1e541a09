import type { PolicyRules } from '../../src/governance/policies/evaluation/compiled-policy';
import type { EvaluationRequest } from '../../src/governance/policies/evaluation/evaluation';
import type { AgentSubject } from '../../src/governance/policies/patterns/subjects';
import { pseudoRandom } from './pseudo-random';

/** Policies, and requests to be decided by them. All engines are given the same. */
export interface Workload {
  readonly policies: readonly PolicyRules[];
  readonly requests: readonly EvaluationRequest[];
}

type ListedRules = Pick<PolicyRules, 'subjects' | 'actions' | 'resources'> & Partial<PolicyRules>;

const REQUESTS = 5_000;
const AGENTS = 300;
const ROLES = 40;
const ROLES_OF_AN_AGENT = 4;
const ACTIONS = 20;
const TYPES = ['document', 'invoice', 'ticket', 'dataset', 'account', 'report', 'model', 'service'];
const DEEPEST = 5;
const NOW = '2026-01-05T12:00:00.000Z';

/** Each policy is about an area of its own. */
export function disjoint(count: number): Workload {
  const random = pseudoRandom(count);
  return workload(
    count,
    (index) => ({ subjects: ['role:*'], actions: ['read'], resources: [`area-${index}/*`] }),
    () => ({
      ...somebody(random),
      action: 'read',
      resourceType: 'document',
      resourceId: `area-${random(count)}/a`,
      parameters: {},
      at: NOW,
    }),
  );
}

/** Every policy matches every request. */
export function wildcards(count: number): Workload {
  const random = pseudoRandom(count);
  return workload(
    count,
    () => ({ subjects: ['*'], actions: ['*'], resources: ['*'] }),
    () => ({
      ...somebody(random),
      action: 'read',
      resourceType: 'document',
      resourceId: pathOf(random, 3),
      parameters: {},
      at: NOW,
    }),
  );
}

/**
 * Returns a workload that makes an evaluation look in many places: agents, roles and everybody, some actions and all,
 * paths and what lies below them at every depth, resource types. With a single priority, every policy of an effect has
 * to be examined.
 */
export function mix(count: number, priorities = 1): Workload {
  const random = pseudoRandom(count);
  const several = <Item>(most: number, make: () => Item): Item[] => Array.from({ length: 1 + random(most) }, make);
  return workload(
    count,
    () => ({
      subjects: several(3, () => subject(random)),
      actions: random(4) === 0 ? ['*'] : several(3, () => `action-${random(ACTIONS)}`),
      resources: several(2, () => resource(random)),
      resourceTypes: random(10) < 6 ? [] : several(2, () => typeOf(random)),
      priority: random(priorities),
      effect: random(5) === 0 ? 'deny' : 'allow',
    }),
    () => ({
      ...somebody(random),
      action: `action-${random(ACTIONS)}`,
      resourceType: typeOf(random),
      resourceId: pathOf(random, DEEPEST),
      parameters: {},
      at: NOW,
    }),
  );
}

/**
 * As {@link mix}, but no policy is for everybody or every action, so that few match and an evaluation has to look for
 * them.
 */
export function exactMix(count: number): Workload {
  const random = pseudoRandom(count);
  const { policies, requests } = mix(count);
  const exact = ({ subjects, actions, ...otherMembers }: PolicyRules): PolicyRules => ({
    ...otherMembers,
    subjects: subjects.map((subject) => (subject.endsWith('*') ? `role:team-${random(ROLES)}` : subject)),
    actions: actions.includes('*') ? [`action-${random(ACTIONS)}`] : actions,
  });
  return { policies: policies.map(exact), requests };
}

/** Every policy matches every request; the newest denies. */
export function lastDenies(count: number): Workload {
  const { policies, requests } = wildcards(count);
  return {
    policies: policies.map((policy, index) => (index === count - 1 ? { ...policy, effect: 'deny' } : policy)),
    requests,
  };
}

function workload(count: number, policy: (index: number) => ListedRules, request: () => EvaluationRequest): Workload {
  return {
    policies: Array.from({ length: count }, (_, index) => ({
      id: `pol_${String(index).padStart(26, '0')}`,
      name: `policy-${index}`,
      version: '1.0',
      effect: 'allow',
      resourceTypes: [],
      priority: 0,
      conditions: [],
      limits: [],
      onBehalfOf: [],
      approval: null,
      team: null,
      ...policy(index),
    })),
    requests: Array.from({ length: REQUESTS }, request),
  };
}

type Random = ReturnType<typeof pseudoRandom>;

function somebody(random: Random): { subject: AgentSubject } {
  const index = random(AGENTS);
  const roles = Array.from({ length: ROLES_OF_AN_AGENT }, (_, nth) => `team-${(index * 7 + nth * 5) % ROLES}`);
  return { subject: { agentId: agentId(index), agentName: `agent-${index}`, kind: 'machine', roles } };
}

function agentId(index: number): string {
  return `agt_${String(index).padStart(26, '0')}`;
}

function subject(random: Random): string {
  const kind = random(10);
  if (kind < 3) return `agent:agent-${random(AGENTS)}`;
  if (kind < 4) return agentId(random(AGENTS));
  if (kind < 8) return `role:team-${random(ROLES)}`;
  return kind < 9 ? 'role:*' : '*';
}

function resource(random: Random): string {
  const kind = random(10);
  if (kind < 1) return '*';
  if (kind < 3) return pathOf(random, 2 + random(DEEPEST - 1));
  const below =
    kind < 8 ? pathOf(random, 1 + random(DEEPEST - 1)) : `${typeOf(random)}/${pathOf(random, 1 + random(3))}`;
  return `${below}/*`;
}

function typeOf(random: Random): string {
  return TYPES[random(TYPES.length)] ?? '';
}

/** Returns a random path. The number of possible names grows with the level. */
function pathOf(random: Random, depth: number): string {
  return Array.from({ length: depth }, (_, level) => `folder-${random(4 + 2 * level)}`).join('/');
}
