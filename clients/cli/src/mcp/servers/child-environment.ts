const SECRET = 'GOVERNANCE_';

/**
 * True for a variable that no server may see: with it a server could act as an agent, or approve its own calls. On
 * Windows names of variables are the same in upper and lower case.
 */
export function isSecretName(name: string): boolean {
  return name.toUpperCase().startsWith(SECRET);
}

/** The environment of a server that is a child process. */
export function serverEnvironment(): Record<string, string> {
  const entries = Object.entries(process.env).flatMap(([name, value]): [string, string][] =>
    value === undefined || isSecretName(name) ? [] : [[name, value]],
  );
  return Object.fromEntries(entries);
}
