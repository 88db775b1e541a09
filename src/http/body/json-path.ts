const PLAIN_KEY = /^[A-Za-z_$][\w$-]*$/;
const LONGEST_KEY_SHOWN = 100;

/** Names a member of a body: `name`, `properties.a[3]`, `properties["two words"]`. */
export function jsonPath(steps: readonly (string | number)[]): string {
  return steps.reduce<string>(extended, '');
}

/** A client's key, truncated if it is too long to display. */
export function shownKey(key: string): string {
  return key.length > LONGEST_KEY_SHOWN ? `${key.slice(0, LONGEST_KEY_SHOWN)}…` : key;
}

function extended(path: string, step: string | number): string {
  if (typeof step === 'number') {
    return `${path}[${step}]`;
  }
  const key = shownKey(step);
  if (!PLAIN_KEY.test(key)) {
    return `${path}[${JSON.stringify(key)}]`;
  }
  return path === '' ? key : `${path}.${key}`;
}
