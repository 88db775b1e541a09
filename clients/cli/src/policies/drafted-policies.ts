import { stringify } from 'yaml';
import { draftedConditions, shapeOf } from './drafted-conditions.js';
import { draftedResources } from './drafted-resources.js';
import type { Policy } from './policy-files.js';

/** What an agent was let do while it was observed. */
export interface ObservedExecution {
  readonly agentName: string;
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface DraftedPolicy {
  readonly policy: Policy;
  /** Sentences for who reads the draft: how often it was seen, and what is left open. */
  readonly comments: readonly string[];
}

const MOST_RESOURCES = 100;
const LONGEST_NAME = 180;
/** Forms of parameters of one action that get a policy each; with more, what they share decides. */
const MOST_SHAPES = 10;

/** Policies that allow what was observed and, as far as they can say it, nothing else. */
export function draftedPolicies(executions: readonly ObservedExecution[]): DraftedPolicy[] {
  const kinds = groupedBy(executions, ({ action, resourceType }) => JSON.stringify([action, resourceType]));
  return kinds.flatMap((kind) => {
    const shapes = groupedBy(kind, ({ parameters }) => shapeOf(parameters));
    const groups = shapes.length > MOST_SHAPES ? [kind] : shapes;
    return numbered(groups.flatMap(policiesOf));
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
  const { patterns, unnamed } = draftedResources([...new Set(group.map(({ resourceId }) => resourceId))]);
  const { conditions, open } = draftedConditions(group.map(({ parameters }) => parameters));
  const name = [...`${agentName} may ${action} ${resourceType}`].slice(0, LONGEST_NAME).join('');
  const comments = [
    `Drafted from ${group.length === 1 ? 'one observed execution' : `${group.length} observed executions`}. Read it before it is applied.`,
    ...open.map((sentence) => `Open: ${JSON.stringify(sentence)}.`),
    ...unnamed.map((id) => `Not allowed, as no pattern can name it: ${JSON.stringify(id)}.`),
  ];
  const parts = Array.from({ length: Math.ceil(patterns.length / MOST_RESOURCES) }, (_, index) =>
    patterns.slice(index * MOST_RESOURCES, (index + 1) * MOST_RESOURCES),
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
      ...(conditions.length > 0 && { conditions }),
    },
    comments,
  }));
}

/** A policy's name is unique. */
function numbered(drafts: readonly DraftedPolicy[]): DraftedPolicy[] {
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
