import { notComposedFault } from './label-fault.js';

/**
 * Returns the fault of an action pattern, which is an exact name, a beginning with `*`, or `*`; undefined if it is
 * valid.
 */
export function actionPatternFault(text: string): string | undefined {
  if (text.trim() === '') return 'must not be blank';
  if (text.slice(0, -1).includes('*')) return 'may contain "*" only at its end';
  return notComposedFault(text);
}

/** Yields the patterns that cover an action or a pattern, the smallest first. */
export function* patternsAround(action: string): Generator<string> {
  if (action === '*') return;
  const isPrefix = action.endsWith('*');
  for (let length = isPrefix ? action.length - 2 : action.length; length >= 0; length -= 1)
    yield `${action.slice(0, length)}*`;
}

export function matchesAction(pattern: string, action: string): boolean {
  return pattern === action || (pattern.endsWith('*') && action.startsWith(pattern.slice(0, -1)));
}
