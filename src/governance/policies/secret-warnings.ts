import type { PolicyCondition } from './conditions/condition';
import { pathOf } from './conditions/condition-faults';
import { isReference } from './conditions/operand';
import type { PolicyContent } from './policy-content';

/** Paths to parameters, with the parts of a policy that use them. */
type PathUses = readonly (readonly [part: string, path: readonly string[]])[];

/**
 * Warns of parts of a policy that use a secret: policies see only its replacement.
 * @param covers true if the service replaces the value at a path, or one that contains it
 */
export function secretWarnings(
  { conditions, limits }: Pick<PolicyContent, 'conditions' | 'limits'>,
  covers: (path: readonly string[]) => boolean,
): string[] {
  const pathUses: PathUses = [
    ...conditions.flatMap((condition, index) =>
      pathsOf(condition).map((path) => [`conditions[${index}]`, path] as const),
    ),
    ...limits.flatMap(({ of }, index) => (of === undefined ? [] : [[`limits[${index}]`, pathOf(of)] as const])),
  ];
  return pathUses.flatMap(([part, path]) => (covers(path) ? warningOf(part, path) : []));
}

/** Returns the paths that a condition must see. `exists` may see a secret, but nothing within it. */
function pathsOf(condition: PolicyCondition): string[][] {
  const own = 'parameter' in condition ? [pathOf(condition.parameter)] : [];
  if (condition.op === 'exists') return own.map((path) => path.slice(0, -1));
  const { value } = condition;
  return isReference(value) && 'parameter' in value ? [...own, pathOf(value.parameter)] : own;
}

function warningOf(part: string, path: readonly string[]): string[] {
  const pointer = path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  return [
    `${part} looks at ${pointer} (secret_parameter): SECRET_PARAMETERS names it, so its value is replaced before policies see it. An allow ` +
      'never matches, a deny always does.',
  ];
}
