import type { ConditionFault } from './condition-faults.js';

const KINDS = ['machine', 'human'];
const LISTS = {
  subjects: subjectFault,
  actions: actionFault,
  resources: resourceFault,
  resourceTypes: typeFault,
} as const;

/** The lists of a policy that name who, what and where. */
type Named = Readonly<
  Partial<Record<keyof typeof LISTS, readonly string[] | null>> & {
    approval?: { readonly approvers?: readonly { readonly subjects: readonly string[] }[] | null } | null;
  }
>;

/** What the service refuses in the patterns of a policy, but for what could be read as another path: it alone knows all of that. */
export function patternFaults(policy: Named): ConditionFault[] {
  const lists = Object.entries(LISTS).flatMap(([list, faultOf]) =>
    faultsIn(list, policy[list as keyof typeof LISTS] ?? [], faultOf),
  );
  const approvers = policy.approval?.approvers ?? [];
  const groups = approvers.flatMap(({ subjects }, index) =>
    faultsIn(`approval.approvers[${index}].subjects`, subjects, subjectFault),
  );
  return [...lists, ...groups];
}

function faultsIn(
  list: string,
  patterns: readonly string[],
  faultOf: (pattern: string) => string | null,
): ConditionFault[] {
  return patterns.flatMap((pattern, index) => {
    const message = faultOf(pattern);
    return message === null ? [] : { at: `.${list}[${index}]`, message };
  });
}

function subjectFault(text: string): string | null {
  if (text === '*') return null;
  const [, prefix, name = text] = /^([^:]+):([^]*)$/.exec(text) ?? [];
  if (name.trim() === '') return prefix === undefined ? 'must not be blank' : `must have a name after "${prefix}:"`;
  if (prefix === 'kind')
    return KINDS.includes(name) ? null : `must be one of ${KINDS.map((kind) => `kind:${kind}`).join(', ')}`;
  if (prefix === 'role' && !isComposed(name)) return NOT_COMPOSED;
  if (prefix !== undefined && !prefix.includes('*') && name === '*') return null;
  return text.includes('*') ? 'may contain "*" only as "*", or alone behind a prefix, as in "role:*"' : null;
}

function actionFault(text: string): string | null {
  if (text.trim() === '') return 'must not be blank';
  if (text.slice(0, -1).includes('*')) return 'may contain "*" only at its end';
  return isComposed(text) ? null : NOT_COMPOSED;
}

function resourceFault(text: string): string | null {
  const path = text.replace(/^\//, '');
  if (path === '*') return null;
  const place = path.replace(/\/\*$/, '');
  if (place.includes('*')) return 'may contain "*" only as "*" or as a trailing "/*"';
  return path.includes('://') ? null : pathFault(path);
}

function typeFault(text: string): string | null {
  if (text.includes('*')) return 'must not contain "*": leave the list out for any type';
  if (text.includes('/')) return 'must not contain "/"';
  return pathFault(text) ?? (isComposed(text) ? null : NOT_COMPOSED);
}

/** Of a path that is not a URL. */
function pathFault(path: string): string | null {
  if (path.includes('\\')) return 'must not contain "\\"';
  if (path.includes('/') && /[?#;]/.test(path)) return 'must not contain "?", "#" or ";" in a path with "/"';
  const segments = path.split('/');
  if (segments.includes('')) return 'must not have empty segments (as in "a//b" or a trailing "/")';
  if (segments.some((segment) => segment === '.' || segment === '..')) return 'must not have "." or ".." segments';
  return segments.some((segment) => segment.trim() !== segment)
    ? 'must not have white space at the ends of a segment'
    : null;
}

const NOT_COMPOSED = 'must be in Unicode normal form C';

function isComposed(text: string): boolean {
  return text === text.normalize('NFC');
}
