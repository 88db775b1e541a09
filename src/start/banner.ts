/** What an operator wants to see once the service listens. */
export interface StartReport {
  /** Where the records are, without a password. */
  readonly database: string;
  /** Length of the chain and the hash of its last entry. */
  readonly head: { readonly sequence: number; readonly hash: string };
  /** Without a trailing slash. */
  readonly url: string;
  readonly hasDocs: boolean;
  /** The key made for this run; null when the operator gave one, which is never shown. */
  readonly generatedKey: string | null;
  readonly warnings: readonly string[];
}

const SHOWN_HASH_DIGITS = 12;

/** A few lines, the last of which can be pasted into a shell. */
export function banner({ database, head, url, hasDocs, generatedKey, warnings }: StartReport): string {
  const api = `${url}/api/v1`;
  const rows: readonly (readonly [string, string | null])[] = [
    ...warnings.map((warning) => ['WARNING', warning] as const),
    ['Database', database],
    ['Chain', chainState(head)],
    ['API', api],
    ['Docs', hasDocs ? `${url}/docs` : null],
    ['Health', `${api}/health`],
    ['API key', generatedKey === null ? null : `${generatedKey} (for this run only; set API_KEY to keep one)`],
    ['Try', curlLine(api, generatedKey)],
  ];
  const lines = rows.flatMap(([name, value]) => (value === null ? [] : `  ${name.padEnd(8)}  ${value}`));
  return ['', 'The governance service is ready.', ...lines, '', ''].join('\n');
}

/** Where a browser on this machine finds the server; an address that means "all" becomes localhost. */
export function localUrl(host: string, port: number): string {
  const meansAll = host === '0.0.0.0' || host === '::';
  const name = meansAll ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

function chainState({ sequence, hash }: StartReport['head']): string {
  if (sequence === 0) return 'empty';
  return `${sequence} ${sequence === 1 ? 'entry' : 'entries'}, head ${hash.slice(0, SHOWN_HASH_DIGITS)}…`;
}

/** With a key that is not to be shown, a public address is the one that works as printed. */
function curlLine(api: string, generatedKey: string | null): string {
  return generatedKey === null ? `curl ${api}/health` : `curl -H 'X-API-Key: ${generatedKey}' ${api}/stats`;
}
