import { isName } from './subjects.mjs';

/**
 * @param {string} pattern an exact name, a beginning with a final `*`, or `*`
 * @param {string} action
 */
export function matchesAction(pattern, action) {
  return pattern.endsWith('*') ? action.startsWith(pattern.slice(0, -1)) : pattern === action;
}

/**
 * True if a capability covers the action. None covers an action that is not spelled as a name may be.
 * @param {readonly string[]} capabilities read as the actions of policies
 * @param {string} action
 */
export function isCapable(capabilities, action) {
  return isName(action) && capabilities.some((capability) => isName(capability) && matchesAction(capability, action));
}
