/**
 * Permitted parameters; any other, such as a misspelt `sslmode`, would be ignored and leave the connection unencrypted.
 */
const PARAMETERS: Readonly<Record<string, RegExp>> = {
  sslmode: /^(disable|prefer|require|verify-ca|verify-full)$/,
  sslrootcert: /./,
  sslcert: /./,
  sslkey: /./,
  options: /./,
};

export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:/i.test(text);
}

/** Why the URL cannot be used for a connection, without quoting it; undefined if it can. */
export function postgresUrlFault(text: string): string | undefined {
  if (!/^postgres(ql)?:\/\/[\x21-\x7e]+$/i.test(text) || !URL.canParse(text)) {
    return 'it is not a URL; write the special characters of user and password percent-encoded';
  }
  const { username, password, hostname, pathname, searchParams, hash } = new URL(text);
  if (hash !== '') return 'it has a #; write that as %23';
  if (![username, password, hostname, pathname].every(isDecodable))
    return 'a % in it is not followed by two hex digits';
  if (hostname === '') return 'it names no host';
  if (username === '') return 'it names no user';
  if (!/^\/[^/]+$/.test(pathname)) return 'it names no database after the host';
  return parameterFault(searchParams);
}

function parameterFault(parameters: URLSearchParams): string | undefined {
  for (const [name, value] of parameters) {
    const pattern = PARAMETERS[name];
    if (pattern === undefined) return `its parameters may be ${Object.keys(PARAMETERS).join(', ')}`;
    if (!pattern.test(value)) return `its ${name} has a value that is not known`;
    if (parameters.getAll(name).length > 1) return `its ${name} is given twice`;
  }
  const needsRoot = parameters.get('sslmode') === 'verify-ca' && !parameters.has('sslrootcert');
  return needsRoot ? 'its sslmode verify-ca needs sslrootcert' : undefined;
}

function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}
