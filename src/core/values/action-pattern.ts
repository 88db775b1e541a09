import { notComposedFault } from './label-fault';

/** What a pattern of actions has to be, or undefined if it is valid: an exact name, a beginning with `*`, or `*`. */
export function actionPatternFault(text: string): string | undefined {
  if (text.trim() === '') return 'must not be blank';
  if (text.slice(0, -1).includes('*')) return 'may contain "*" only at its end';
  return notComposedFault(text);
}

export function matchesAction(pattern: string, action: string): boolean {
  return pattern === action || (pattern.endsWith('*') && action.startsWith(pattern.slice(0, -1)));
}
