/** Says what an action of a policy would have to be, or undefined when it is one: an exact name, or `*` for all. */
export function actionFault(text: string): string | undefined {
  if (text.trim() === '') return 'must not be blank';
  return text !== '*' && text.includes('*') ? 'may contain "*" only as "*"' : undefined;
}
