/** Longest pattern in characters. */
export const LONGEST_PATTERN = 500;

const ANY = '*';
const FAMILY_END = '.*';

/** What is wrong with a pattern that names one action, or a family of them as `<family>.*`; undefined if nothing is. */
export function actionPatternFault(pattern: string): string | undefined {
  const name = pattern.endsWith(FAMILY_END) ? pattern.slice(0, -FAMILY_END.length) : pattern;
  return name === '' || name.includes('*')
    ? 'must be an action, such as entity.created, or a family of actions, such as entity.*'
    : undefined;
}

/** The same, also accepting `*` for every action. */
export function actionPatternOrAnyFault(pattern: string): string | undefined {
  return pattern === ANY || actionPatternFault(pattern) === undefined
    ? undefined
    : 'must be an action, such as entity.created, a family of actions, such as entity.*, or * for every action';
}

export function matchesAction(pattern: string, action: string): boolean {
  if (pattern === ANY) return true;
  return pattern.endsWith(FAMILY_END) ? action.startsWith(pattern.slice(0, -1)) : action === pattern;
}
