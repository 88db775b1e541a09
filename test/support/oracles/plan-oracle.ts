import type { JsonObject } from '../../../src/core/json/json-value';
import { NO_FACTS, compileCondition, truthOf } from '../../../src/governance/policies/conditions/condition';
import type { Evaluation, EvaluationRequest } from '../../../src/governance/policies/evaluation/evaluation';
import { compilePolicy } from '../../../src/governance/policies/evaluation/compiled-policy';
import { PolicyEvaluator } from '../../../src/governance/policies/evaluation/policy-evaluator';
import { decodedPath } from '../../../src/governance/policies/patterns/resources';
import type { AgentSubject } from '../../../src/governance/policies/patterns/subjects';
import type {
  PatternSetResponse as PatternSet,
  PlannedEffectResponse as Effect,
  PlannedVerdictResponse as PlannedVerdict,
  PolicyVersionResponse as PolicyVersion,
} from '../../../src/governance/policy-plans/dto/policy-plan.response';
import type { PlannedPolicy } from '../../../src/governance/policy-plans/effects/planned-match';

// With one text for whatever lies in a pattern and in none inside it.
export const ACTIONS = ['read', 'send-mail', 'send-mail-now', 'send-fax', 'sum', 'x', 'y'];
export const TYPES = ['a', 'b', 'c', 'doc', 'other', 'free', 'c d', 'c%20d', 'c%2520d'];
export const IDS = [
  ...['z', 'z/z', 'doc/z', 'doc/a/z', 'a/b/z', 'https://h/z', 'https://h/a/z'],
  ...['a', 'b', 'c', '+', 'a/b', 'a/b/c', 'a/c', 'b/b', 'b/c', 'b/a', 'c/d/e', 'b/c/d', 'doc', 'doc/b'],
  ...['https://h/a', 'https://h/a/b', 'https://g/a', 's3://a/b'],
  ...['c d', 'c%20d', 'c%2520d', 'a/c d', 'a/c%20d', 'c d/a', 'c%20d/a', 'c d/e f', 'c d/e%20f', 'c%20d/e f'],
  ...['c%20d/e%20f', 'a:b', 'a%3Ab', 'https://h/c:d', 'https://h/c:d/e', 'https://h/c%3Ad', 'https://h/c%253Ad/e'],
];
export const AGENTS: readonly AgentSubject[] = [
  { agentId: 'agt_1', agentName: 'bot', kind: 'machine', roles: [] },
  { agentId: 'agt_2', agentName: 'ann', kind: 'human', roles: ['r'] },
  { agentId: 'agt_3', agentName: 'ben', kind: 'human', roles: ['r', 's'] },
  { agentId: 'agt_4', agentName: 'two', kind: 'machine', roles: [], team: 'red' },
];
export const OTHERS = (['machine', 'human'] as const).map((kind) => ({
  agentId: `other:${kind}`,
  agentName: '\0',
  kind,
  roles: [],
}));
/** Machines with a role or a name that policies list and no agent has. */
function machinesListed(policies: readonly PlannedPolicy[]): AgentSubject[] {
  const listed = new Set(policies.flatMap(({ subjects }) => subjects));
  return ['role:nobody', 'role:never', 'agent:missing', 'gone']
    .filter((text) => listed.has(text))
    .map((text) => {
      const name = text.replace(/^(?:role|agent):/, '');
      const isRole = text.startsWith('role:');
      const agentId = `other:${isRole ? 'role' : 'agent'}:${name}`;
      return { agentId, agentName: isRole ? '\0' : name, kind: 'machine', roles: isRole ? [name] : [] };
    });
}
const SIDES = ['from', 'to'] as const;
type Side = (typeof SIDES)[number];
/** The time of each request. */
export const AT = '2026-01-05T12:00:00.000Z';
const ANYTHING = { subject: { type: '', id: '', roles: [] }, resourceType: '', resourceId: '', at: AT };
export const PARAMETERS: readonly JsonObject[] = [{}, { c: 1 }, { c: 2 }, { d: 1 }, { c: 1, d: 1 }, { c: 2, d: 2 }];

export type AgentRequest = EvaluationRequest & { readonly subject: AgentSubject };

/** Faults of regions, compared with every request that can be built from the texts above. */
export function* faultsOf(policies: readonly PlannedPolicy[], effects: readonly Effect[]): Generator<string> {
  const before = evaluatorOf(policies.filter(({ isBefore }) => isBefore));
  const after = evaluatorOf(policies.filter(({ isAfter }) => isAfter));
  const letting = lettingOf(policies);
  const conditional = policies.filter(({ conditions }) => conditions.length > 0).map(({ name }) => name);
  const deciding = new DecidingPolicies(new Set(conditional));
  // Of values that all conditions treat alike, one is enough.
  const parameterSets = new Map(
    PARAMETERS.map((parameters) => [[...letting.values()].map((lets) => lets(parameters)).join(), parameters]),
  );
  for (const subject of [...AGENTS, ...OTHERS, ...machinesListed(policies)]) {
    const ofSubject = effects.filter(({ subjects }) => subjects.includes(subject.agentId));
    for (const action of ACTIONS) {
      const ofAction = ofSubject.filter(({ actions }) => isIn(actions, (pattern) => actionMatches(pattern, action)));
      for (const resourceType of TYPES) {
        const ofType = ofAction.filter(({ resourceTypes }) =>
          isIn(resourceTypes, (pattern) => matches(pattern, resourceType)),
        );
        for (const resourceId of IDS) {
          const ofId = ofType.filter(({ resources }) => isIn(resources, (pattern) => matches(pattern, resourceId)));
          for (const parameters of parameterSets.values()) {
            const request = { subject, action, resourceType, resourceId, parameters, at: AT };
            const regions = ofId.filter(({ when }) => holds(when, parameters, letting));
            const answers = { from: before.evaluate(request), to: after.evaluate(request) };
            yield* faultsAt(request, regions, verdictOf(answers.from), verdictOf(answers.to));
            for (const region of regions) deciding.add(region, answers);
          }
        }
      }
    }
  }
  for (const region of effects) yield* deciding.faultsOf(region);
}

/** The policies that decide in the requests of each region. */
class DecidingPolicies {
  private readonly byRegion = new Map<Effect, Record<Side, Set<string>>>();

  /** @param conditional names of policies with conditions: whether they can hold together is not looked into. */
  constructor(private readonly conditional: ReadonlySet<string>) {}

  add(region: Effect, answers: Readonly<Record<Side, Evaluation>>): void {
    const deciding = this.byRegion.get(region) ?? { from: new Set(), to: new Set() };
    this.byRegion.set(region, deciding);
    for (const side of SIDES) for (const { name } of answers[side].policies) deciding[side].add(name);
  }

  /** Yields nothing for a region in which no request lies. */
  *faultsOf(region: Effect): Generator<string> {
    const deciding = this.byRegion.get(region);
    if (deciding === undefined) return;
    for (const side of SIDES) {
      const names = new Set(region.because[side].map(({ name }) => name));
      const isMissing = [...deciding[side]].some((name) => !names.has(name));
      const isWrong = [...names].some((name) => !deciding[side].has(name) && !this.conditional.has(name));
      if (isMissing || isWrong) yield `because ${side} ${[...deciding[side]].join()} ${JSON.stringify(region)}`;
    }
  }
}

/** Selects the regions in which the request lies. */
export function regionsOf(request: AgentRequest, effects: readonly Effect[], letting: PolicyConditions): Effect[] {
  const { subject, action, resourceType, resourceId, parameters } = request;
  return effects.filter(
    (region) =>
      region.subjects.includes(subject.agentId) &&
      isIn(region.actions, (pattern) => actionMatches(pattern, action)) &&
      isIn(region.resourceTypes, (pattern) => matches(pattern, resourceType)) &&
      isIn(region.resources, (pattern) => matches(pattern, resourceId)) &&
      holds(region.when, parameters, letting),
  );
}

/** Faults of the regions in which a request lies. */
export function* faultsAt(
  request: AgentRequest,
  regions: readonly Effect[],
  from: PlannedVerdict,
  to: PlannedVerdict,
): Generator<string> {
  const requestText = (): string => JSON.stringify({ ...request, subject: request.subject.agentId, from, to });
  const differs = verdictText(from) !== verdictText(to);
  const [region] = regions;
  if (regions.length > 1) yield `overlap ${requestText()} ${JSON.stringify(regions)}`;
  if (region === undefined) {
    if (differs) yield `missing ${requestText()}`;
    return;
  }
  if (!differs || verdictText(region.from) !== verdictText(from) || verdictText(region.to) !== verdictText(to))
    yield `wrong ${requestText()} ${JSON.stringify(region)}`;
}

function evaluatorOf(policies: readonly PlannedPolicy[]): PolicyEvaluator {
  const evaluator = new PolicyEvaluator();
  evaluator.put(policies.map(compilePolicy), []);
  return evaluator;
}

function verdictOf({ effect, requirement }: Evaluation): PlannedVerdict {
  return requirement === null
    ? { effect: effect ?? 'no_policy' }
    : { effect: 'require_approval', approvers: requirement.approvers };
}

function verdictText({ effect, approvers = [] }: PlannedVerdict): string {
  return `${effect} ${approvers
    .map(({ subjects, approvals, signed = false }) => `${[...new Set(subjects)].sort().join()} ${approvals} ${signed}`)
    .sort()
    .join(';')}`;
}

export type PolicyConditions = ReadonlyMap<string, (parameters: JsonObject) => boolean>;

/** Maps each policy, by name and version, to a test whether its conditions let it match. */
export function lettingOf(policies: readonly PlannedPolicy[]): PolicyConditions {
  return new Map(
    policies.map((policy) => {
      const conditions = policy.conditions.map(compileCondition);
      const lets = (parameters: JsonObject): boolean => {
        const truth = truthOf(conditions, { ...ANYTHING, parameters }, NO_FACTS);
        return policy.effect === 'allow' ? truth === true : truth !== false;
      };
      return [versionText(policy), lets] as const;
    }),
  );
}

function holds({ hold, fail }: Effect['when'], parameters: JsonObject, letting: PolicyConditions): boolean {
  const lets = (version: PolicyVersion): boolean => {
    const policyLets = letting.get(versionText(version));
    if (policyLets === undefined) throw new Error(`There is no policy ${version.name}.`);
    return policyLets(parameters);
  };
  return hold.every(lets) && !fail.some(lets);
}

function versionText({ name, version }: PolicyVersion): string {
  return `${name} ${version}`;
}

function actionMatches(pattern: string, action: string): boolean {
  return pattern.endsWith('*') ? action.startsWith(pattern.slice(0, -1)) : action === pattern;
}

function isIn({ in: listed, except }: PatternSet, matches: (pattern: string) => boolean): boolean {
  return listed.some(matches) && !except.some(matches);
}

const matched = new Map<string, boolean>();

/** The same texts are compared again and again. */
function matches(pattern: string, id: string): boolean {
  const key = `${pattern}\n${id}`;
  const isMatch = matched.get(key) ?? resourceMatches(pattern, id);
  matched.set(key, isMatch);
  return isMatch;
}

function resourceMatches(pattern: string, id: string): boolean {
  if (pattern === '*') return true;
  if (pattern === '+') return !id.includes('/');
  if (pattern === '://') return id.includes('://');
  const path = pattern.replace(/^\//, '').split('/');
  const isBelow = path.at(-1) === '*';
  const ids = id.split('/');
  if (isBelow ? ids.length < path.length : ids.length !== path.length) return false;
  return segmentsMatch(isBelow ? path.slice(0, -1) : path, ids);
}

/** From the first percent-encoded segment on, every spelling with that segment encoded counts as the same. */
function segmentsMatch(pattern: readonly string[], ids: readonly string[]): boolean {
  const encoded = pattern.findIndex((segment) => decodedPath(segment) !== segment);
  return pattern.every((segment, index) => {
    const id = ids[index] ?? '';
    if (encoded < 0 || index < encoded) return id === segment;
    return decodedPath(id) === decodedPath(segment) && (index > encoded || id !== decodedPath(id));
  });
}
