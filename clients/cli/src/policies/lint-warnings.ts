import type { Policy, PolicyFiles } from './policy-files.js';
import { possibleApprovals } from './file-approvers.js';
import { prefixWarning } from '../service-rules/prefix-warning.js';
import { pathOf } from '../service-rules/condition-faults.js';
import { SecretPointers, USUAL_SECRET_POINTERS } from '../service-rules/secret-pointers.js';
import { isSlip } from '../similar-names.js';

const UPPER = ['lt', 'lte'];
const LOWER = ['gt', 'gte', 'eq', 'in'];
/** Number of policies that are not expected to misspell a name in the same way. */
const MANY = 2;
/** Maximum number of names that are compared with each other. */
const MAX_COMPARED = 3_000;

const USUAL_SECRETS = new SecretPointers(USUAL_SECRET_POINTERS);

/** Returns warnings of probable mistakes in well-formed policy files. Only a plan knows who is registered. */
export function lintWarnings(set: PolicyFiles): string[] {
  return [
    ...amountWarnings(set),
    ...prefixWarnings(set),
    ...secretWarnings(set),
    ...agentWarnings(set),
    ...subjectWarnings(set),
    ...actionWarnings(set),
    ...approverWarnings(set),
  ];
}

/**
 * Warns of policies with the effect `allow` that give a parameter an upper bound only. A parameter that a limit counts
 * needs no lower bound, because a limit takes no negative amount.
 */
function amountWarnings(set: PolicyFiles): string[] {
  return set.policies.flatMap(({ effect, conditions, limits }, index) => {
    if (effect !== 'allow') return [];
    const boundPointers = (ops: readonly string[]): string[] =>
      (conditions ?? []).flatMap(({ parameter, op }) => (parameter !== undefined && ops.includes(op) ? parameter : []));
    const lower = [...boundPointers(LOWER), ...(limits ?? []).map(({ of }) => of)];
    const open = [...new Set(boundPointers(UPPER))].filter((parameter) => !lower.includes(parameter));
    return open.map((parameter) =>
      set.withLocation({
        field: `policies[${index}].conditions`,
        message: `leave ${parameter} without a lower bound: zero and negative numbers are allowed. Add one with "gt" or "gte"`,
      }),
    );
  });
}

/** Warns of conditions that compare only the beginning of a text, whatever follows it. */
function prefixWarnings(set: PolicyFiles): string[] {
  return set.policies.flatMap(({ conditions }, index) =>
    (conditions ?? []).flatMap(({ parameter, op, value }, at) => {
      const warning = op === 'prefix' && typeof value === 'string' ? prefixWarning(parameter ?? '', value) : undefined;
      const field = `policies[${index}].conditions[${at}]`;
      return warning === undefined ? [] : set.withLocation({ field, message: warning.replace(/\.$/, '') });
    }),
  );
}

/** Warns of conditions and limits on values that the service replaces, unless its SECRET_PARAMETERS says otherwise. */
function secretWarnings(set: PolicyFiles): string[] {
  return set.policies.flatMap(({ conditions, limits }, index) => {
    const lookedAt: [part: string, pointer: string][] = [
      ...(conditions ?? []).flatMap((condition, at) =>
        pointersOf(condition).map((pointer): [string, string] => [`conditions[${at}]`, pointer]),
      ),
      ...(limits ?? []).flatMap(({ of }, at): [string, string][] =>
        of === undefined || of === null ? [] : [[`limits[${at}]`, of]],
      ),
    ];
    return lookedAt.flatMap(([part, pointer]) =>
      USUAL_SECRETS.covers(pathOf(pointer))
        ? set.withLocation({
            field: `policies[${index}].${part}`,
            message: `looks at ${pointer} (secret_parameter): unless SECRET_PARAMETERS says otherwise, its value is replaced before policies see it. An allow never matches, a deny always does`,
          })
        : [],
    );
  });
}

/**
 * Returns pointers to the values that a condition has to see: `exists` sees that there is a secret, and nothing within
 * it.
 */
function pointersOf({ parameter, op, value }: NonNullable<Policy['conditions']>[number]): string[] {
  if (op === 'exists') return parameter === undefined ? [] : [parameter.slice(0, parameter.lastIndexOf('/'))];
  const compared = typeof value === 'object' && value !== null && 'parameter' in value ? value['parameter'] : undefined;
  return [parameter, compared].filter((pointer) => typeof pointer === 'string');
}

/** Warns of an agent whose name is similar to an earlier one: a slip would register a second agent. */
function agentWarnings(set: PolicyFiles): string[] {
  const { agents } = set;
  if (agents.length > MAX_COMPARED) return [];
  return agents.flatMap(({ name }, index) => {
    const near = agents.slice(0, index).find((otherAgent) => otherAgent.name !== name && isSlip(name, otherAgent.name));
    const message = `is similar to "${String(near?.name)}", another agent of these files`;
    return near === undefined ? [] : set.withLocation({ field: `agents[${index}].name`, message });
  });
}

/**
 * Warns of approvals that the agents of the files cannot give. Files that declare no person say nothing about who
 * approves, and nothing in files says who has a passkey.
 */
function approverWarnings(set: PolicyFiles): string[] {
  const agents = set.agents.map(({ name, kind, roles }) => ({ name, kind: kind ?? 'machine', roles: roles ?? [] }));
  if (!agents.some(({ kind }) => kind === 'human')) return [];
  return set.policies.flatMap(({ approval }, index) => {
    const groups = (approval?.approvers ?? []).map((group) => ({ ...group, signed: false }));
    const neededApprovals = groups.reduce((sum, { approvals }) => sum + (approvals ?? 1), 0);
    const possible = possibleApprovals(groups, agents);
    const message = `need ${neededApprovals} approvals, each of another reviewer, and the agents of these files can give ${possible} of them: others have to be registered`;
    return possible >= neededApprovals
      ? []
      : set.withLocation({ field: `policies[${index}].approval.approvers`, message });
  });
}

function subjectWarnings(set: PolicyFiles): string[] {
  const own = set.agents.flatMap(({ name, roles }) => [
    `agent:${name}`,
    ...(roles ?? []).map((role) => `role:${role}`),
  ]);
  return unknown(set, 'subjects', own, (left, right) => left === right);
}

function actionWarnings(set: PolicyFiles): string[] {
  const own = set.agents.flatMap(({ capabilities }) => capabilities ?? []);
  const covers = (pattern: string, action: string): boolean =>
    pattern.endsWith('*') && action.startsWith(pattern.slice(0, -1));
  return unknown(set, 'actions', own, (left, right) => left === right || covers(left, right) || covers(right, left));
}

/**
 * Warns of texts that one policy names, and nothing else in the files has, if they are similar to one that several
 * policies or an agent have. Agents that are in no file may have them, so others are not reported.
 */
function unknown(
  set: PolicyFiles,
  list: 'subjects' | 'actions',
  own: readonly string[],
  isSame: (left: string, right: string) => boolean,
): string[] {
  const textsOf = (policy: Policy): string[] =>
    policy[list].map((text) => (list === 'subjects' ? fullText(text) : text));
  const counts = new Map<string, number>(own.map((text) => [text, MANY]));
  for (const text of set.policies.flatMap((policy) => [...new Set(textsOf(policy))]))
    if (text !== '*') counts.set(text, (counts.get(text) ?? 0) + 1);
  if (counts.size > MAX_COMPARED) return [];
  const all = [...counts.keys()];
  const usual = all.filter((text) => (counts.get(text) ?? 0) >= MANY);
  return set.policies.flatMap((policy, index) =>
    textsOf(policy).flatMap((text, position) => {
      if (counts.get(text) !== 1 || all.some((otherText) => otherText !== text && isSame(otherText, text))) return [];
      const near = usual.find((usualText) => isSlip(text, usualText));
      const message = `names "${text}", which nothing else here does: did you mean "${String(near)}"?`;
      return near === undefined ? [] : set.withLocation({ field: `policies[${index}].${list}[${position}]`, message });
    }),
  );
}

/** Returns a subject with its prefix: a name alone is that of an agent. */
function fullText(subject: string): string {
  return subject.includes(':') || subject === '*' ? subject : `agent:${subject}`;
}
