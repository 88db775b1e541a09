/** Whether two actions, or patterns of actions, have one in common. */
export function overlap(one: string, other: string): boolean {
  const matches = (pattern: string, action: string): boolean =>
    pattern === action || (pattern.endsWith('*') && action.startsWith(pattern.slice(0, -1)));
  return matches(one, other) || matches(other, one);
}
