/** Names whose values the service replaces by default, without `_` and `-` and in lower case. */
const DEFAULT_NAMES: ReadonlySet<string> = new Set([
  ...['password', 'passwd', 'pwd', 'secret', 'token', 'accesstoken', 'refreshtoken', 'idtoken', 'apikey', 'xapikey'],
  ...['authorization', 'cookie', 'setcookie', 'privatekey', 'clientsecret', 'credentials', 'jwt'],
]);
const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/;

/** The names and indexes of a JSON Pointer; undefined for any other text. */
export function parsePointer(text: string): string[] | undefined {
  if (!POINTER.test(text)) return undefined;
  return text
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** True if the value at a pointer is secret, or lies within a secret value. @param patterns in addition to the default list */
export function isSecretPointer(pointer: readonly string[], patterns: readonly string[]): boolean {
  const names = pointer.map(plainName);
  if (names.some((name) => DEFAULT_NAMES.has(name))) return true;
  return patterns.some((pattern) => matchesBeginning(names, (parsePointer(pattern) ?? []).map(plainName)));
}

/** True if a pattern names the value, or one that contains it. */
function matchesBeginning(names: readonly string[], pattern: readonly string[]): boolean {
  const [token, ...rest] = pattern;
  if (token === undefined) return true;
  if (token === '**') return names.some((_, index) => matchesBeginning(names.slice(index), rest)) || rest.length === 0;
  const [name, ...below] = names;
  return name !== undefined && (token === '*' || token === name) && matchesBeginning(below, rest);
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}
