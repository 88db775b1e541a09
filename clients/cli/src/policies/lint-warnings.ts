import type { Policy, PolicyFiles } from './policy-files.js';
import { possibleApprovals } from './file-approvers.js';
import { isSlip } from '../similar-names.js';

const UPPER = ['lt', 'lte'];
const LOWER = ['gt', 'gte', 'eq', 'in'];
/** Policies that do not all misspell a name in the same way. */
const MANY = 2;
/** Names that are compared with each other. */
const MOST_COMPARED = 3_000;

/** What is probably not meant in policy files that are well-formed, as far as they tell; a plan knows who is registered. */
export function lintWarnings(set: PolicyFiles): string[] {
  return [
    ...amountWarnings(set),
    ...agentWarnings(set),
    ...subjectWarnings(set),
    ...actionWarnings(set),
    ...approverWarnings(set),
  ];
}

/** Of an allow, parameters with an upper bound only; of those that a limit counts it takes no negative amount. */
function amountWarnings(set: PolicyFiles): string[] {
  return set.policies.flatMap(({ effect, conditions, limits }, index) => {
    if (effect !== 'allow') return [];
    const bounded = (ops: readonly string[]): string[] =>
      (conditions ?? []).flatMap(({ parameter, op }) => (parameter !== undefined && ops.includes(op) ? parameter : []));
    const lower = [...bounded(LOWER), ...(limits ?? []).map(({ of }) => of)];
    const open = [...new Set(bounded(UPPER))].filter((parameter) => !lower.includes(parameter));
    return open.map((parameter) =>
      set.located({
        field: `policies[${index}].conditions`,
        message: `leave ${parameter} without a lower bound: zero and negative numbers are allowed. Add one with "gt" or "gte"`,
      }),
    );
  });
}

/** An agent of a similar name as an earlier one: a slip would register a second one. */
function agentWarnings(set: PolicyFiles): string[] {
  const { agents } = set;
  if (agents.length > MOST_COMPARED) return [];
  return agents.flatMap(({ name }, index) => {
    const near = agents.slice(0, index).find((other) => other.name !== name && isSlip(name, other.name));
    const message = `is similar to "${String(near?.name)}", another agent of these files`;
    return near === undefined ? [] : set.located({ field: `agents[${index}].name`, message });
  });
}

/**
 * Approvals that the agents of the files cannot give. Files that declare no person say nothing about who approves, and
 * nothing in files says who has a passkey.
 */
function approverWarnings(set: PolicyFiles): string[] {
  const agents = set.agents.map(({ name, kind, roles }) => ({ name, kind: kind ?? 'machine', roles: roles ?? [] }));
  if (!agents.some(({ kind }) => kind === 'human')) return [];
  return set.policies.flatMap(({ approval }, index) => {
    const groups = (approval?.approvers ?? []).map((group) => ({ ...group, signed: false }));
    const needed = groups.reduce((sum, { approvals }) => sum + (approvals ?? 1), 0);
    const possible = possibleApprovals(groups, agents);
    const message = `need ${needed} approvals, each of another reviewer, and the agents of these files can give ${possible} of them: others have to be registered`;
    return possible >= needed ? [] : set.located({ field: `policies[${index}].approval.approvers`, message });
  });
}

function subjectWarnings(set: PolicyFiles): string[] {
  const own = set.agents.flatMap(({ name, roles }) => [
    `agent:${name}`,
    ...(roles ?? []).map((role) => `role:${role}`),
  ]);
  return unknown(set, 'subjects', own, (one, other) => one === other);
}

function actionWarnings(set: PolicyFiles): string[] {
  const own = set.agents.flatMap(({ capabilities }) => capabilities ?? []);
  const covers = (pattern: string, action: string): boolean =>
    pattern.endsWith('*') && action.startsWith(pattern.slice(0, -1));
  return unknown(set, 'actions', own, (one, other) => one === other || covers(one, other) || covers(other, one));
}

/**
 * Texts that one policy names, and nothing else in the files has, if they are similar to one that several policies or an
 * agent have. Agents that are in no file may have them, so others are not reported.
 */
function unknown(
  set: PolicyFiles,
  list: 'subjects' | 'actions',
  own: readonly string[],
  isSame: (one: string, other: string) => boolean,
): string[] {
  const textsOf = (policy: Policy): string[] =>
    policy[list].map((text) => (list === 'subjects' ? fullText(text) : text));
  const naming = new Map<string, number>(own.map((text) => [text, MANY]));
  for (const text of set.policies.flatMap((policy) => [...new Set(textsOf(policy))]))
    if (text !== '*') naming.set(text, (naming.get(text) ?? 0) + 1);
  if (naming.size > MOST_COMPARED) return [];
  const all = [...naming.keys()];
  const usual = all.filter((text) => (naming.get(text) ?? 0) >= MANY);
  return set.policies.flatMap((policy, index) =>
    textsOf(policy).flatMap((text, at) => {
      if (naming.get(text) !== 1 || all.some((other) => other !== text && isSame(other, text))) return [];
      const near = usual.find((other) => isSlip(text, other));
      const message = `names "${text}", which nothing else here does: did you mean "${String(near)}"?`;
      return near === undefined ? [] : set.located({ field: `policies[${index}].${list}[${at}]`, message });
    }),
  );
}

/** A name alone is that of an agent. */
function fullText(subject: string): string {
  return subject.includes(':') || subject === '*' ? subject : `agent:${subject}`;
}
