import { matchesAction } from './service-rules/action-pattern.js';

/** True if two actions, or patterns of actions, have an action in common. */
export function overlap(left: string, right: string): boolean {
  return matchesAction(left, right) || matchesAction(right, left);
}
