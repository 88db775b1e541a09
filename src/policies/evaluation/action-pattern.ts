/** Says what an action of a policy would have to be, or null when it is one: an exact name, or `*` for all. */
export function actionFault(text: string): string | null {
  if (text.trim() === '') return 'must not be blank';
  return text !== '*' && text.includes('*') ? 'may contain "*" only as "*"' : null;
}
