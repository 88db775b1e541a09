import { stringify } from 'yaml';
import { type Condition, draftedConditions, shapeOf } from './drafted-conditions.js';
import { draftedResources } from './drafted-resources.js';
import type { Policy } from './policy-files.js';

/** An execution that was let through because its agent was observed. */
export interface ObservedExecution {
  readonly agentName: string;
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The principal; null if the agent acted for nobody. */
  readonly onBehalfOf?: { readonly subject: string } | null;
}

export interface DraftedPolicy {
  readonly policy: Policy;
  /** Sentences for who reads the draft: how often it was seen, and what is left open. */
  readonly comments: readonly string[];
}

const MAX_RESOURCES = 100;
const MAX_NAME_LENGTH = 180;
/**
 * Maximum number of shapes of parameters of one action that get a policy each; if there are more, one policy has what
 * they share.
 */
const MAX_SHAPES = 10;
/** Maximum number of principals that are named one by one; if there are more, all of their type are. */
const MAX_PRINCIPALS = 5;
const ABOUT_PRINCIPAL: Condition = { principal: 'id', op: 'eq', value: { resource: 'last' } };

/** Returns policies that allow what was observed and, as far as policies can say it, nothing else. */
export function draftedPolicies(executions: readonly ObservedExecution[]): DraftedPolicy[] {
  const kinds = groupedBy(executions, (execution) =>
    JSON.stringify([execution.action, execution.resourceType, principalTypeOf(execution)]),
  );
  return kinds.flatMap((kind) => {
    const shapes = groupedBy(kind, ({ parameters }) => shapeOf(parameters));
    const groups = shapes.length > MAX_SHAPES ? [kind] : shapes;
    return withNumbers(groups.flatMap(policiesOf));
  });
}

export function draftedFile({ policy, comments }: DraftedPolicy): string {
  const head = comments.map((comment) => `# ${comment}\n`).join('');
  return `${head}${stringify({ policies: [policy] }, { lineWidth: 0, blockQuote: false, doubleQuotedAsJSON: true })}`;
}

function policiesOf(group: readonly ObservedExecution[]): DraftedPolicy[] {
  const [first] = group;
  if (first === undefined) return [];
  const { agentName, action, resourceType } = first;
  const { patterns, unnameable } = draftedResources([...new Set(group.map(({ resourceId }) => resourceId))]);
  const { conditions: onParameters, open } = draftedConditions(group.map(({ parameters }) => parameters));
  const conditions = [...(isAboutPrincipals(group) ? [ABOUT_PRINCIPAL] : []), ...onParameters];
  const type = principalTypeOf(first);
  const principals = type === null ? [] : principalsOf(type, group);
  const forWhom = type === null ? '' : ` for ${type}`;
  const name = [...`${agentName} may ${action} ${resourceType}${forWhom}`].slice(0, MAX_NAME_LENGTH).join('');
  const comments = [
    `Drafted from ${group.length === 1 ? 'one observed execution' : `${group.length} observed executions`}. Read it before it is applied.`,
    ...(principals.includes(`${type}:*`) ? [`Open: for each ${JSON.stringify(type)}.`] : []),
    ...open.map((sentence) => `Open: ${JSON.stringify(sentence)}.`),
    ...unnameable.map((id) => `Not allowed, as no pattern can name it: ${JSON.stringify(id)}.`),
  ];
  const parts = Array.from({ length: Math.ceil(patterns.length / MAX_RESOURCES) }, (_, index) =>
    patterns.slice(index * MAX_RESOURCES, (index + 1) * MAX_RESOURCES),
  );
  return parts.map((resources) => ({
    policy: {
      name,
      version: '1.0',
      effect: 'allow',
      subjects: [`agent:${agentName}`],
      actions: [action],
      resources,
      resourceTypes: [resourceType],
      ...(principals.length > 0 && { onBehalfOf: principals }),
      ...(conditions.length > 0 && { conditions }),
    },
    comments,
  }));
}

/** Returns the type of the principal; null if the agent acted for nobody. */
function principalTypeOf({ onBehalfOf }: ObservedExecution): string | null {
  return onBehalfOf?.subject.split(':', 1)[0] ?? null;
}

/** True if each of several principals was served about itself only. */
function isAboutPrincipals(group: readonly ObservedExecution[]): boolean {
  const ids = group.map(({ onBehalfOf }) => onBehalfOf?.subject.normalize('NFC').replace(/^[^:]*:/, ''));
  const isOwn = group.every(({ resourceId }, index) => ids[index] === resourceId.normalize('NFC').split('/').at(-1));
  return isOwn && new Set(ids).size > 1;
}

/** Returns the principals of a group as patterns; a pattern cannot name an id with a `*`. */
function principalsOf(type: string, group: readonly ObservedExecution[]): string[] {
  const subjects = [...new Set(group.flatMap(({ onBehalfOf }) => onBehalfOf?.subject ?? []))].sort();
  const areNamed = subjects.length <= MAX_PRINCIPALS && !subjects.some((subject) => subject.includes('*'));
  return areNamed ? subjects : [`${type}:*`];
}

/** Adds numbers to the names of policies, because each name is unique. */
function withNumbers(drafts: readonly DraftedPolicy[]): DraftedPolicy[] {
  return drafts.map(({ policy, comments }, index) => ({
    policy: index === 0 ? policy : { ...policy, name: `${policy.name} ${index + 1}` },
    comments,
  }));
}

function groupedBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return [...groups.values()];
}
