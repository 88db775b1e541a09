/** Names of parameters whose beginning decides little, each with what is meant. */
const ADVICE: Readonly<Record<string, string>> = {
  command: 'a command can go on with another one: use "in" with whole commands',
  cmd: 'a command can go on with another one: use "in" with whole commands',
  sql: 'a statement can go on with another one: use "in" with whole statements',
  path: 'with "..", a path leads elsewhere: use "within"',
  file: 'with "..", a path leads elsewhere: use "within"',
  url: 'a host can go on after it: use "within" or "domain"',
  uri: 'a host can go on after it: use "within" or "domain"',
  host: 'what a host belongs to stands at its end: use "domain"',
  email: 'what an address belongs to stands at its end: use "domain"',
  to: 'what an address belongs to stands at its end: use "domain"',
  address: 'what an address belongs to stands at its end: use "domain"',
};

/**
 * Why a condition with the operator `prefix` checks less than it seems to; undefined if nothing is known against it.
 * @param parameter a JSON Pointer
 */
export function prefixWarning(parameter: string, value: string): string | undefined {
  if (value.includes('/'))
    return `does not check a path or URL: with "..", what begins with "${value}" leads elsewhere. Use "within".`;
  const name = parameter.split('/').findLast((token) => token !== '*') ?? '';
  const advice = Object.hasOwn(ADVICE, name.toLowerCase()) ? ADVICE[name.toLowerCase()] : undefined;
  return advice === undefined ? undefined : `checks only how ${parameter} begins: ${advice}.`;
}
