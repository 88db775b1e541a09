/** Facts for the operator once the service is listening. */
export interface StartReport {
  /** Location of the records, without a password. */
  readonly database: string;
  /** Version of the IANA database of time zones. */
  readonly zones: string;
  /** Length of the chain and the hash of its last entry. */
  readonly head: { readonly sequence: number; readonly hash: string };
  /** URL without a trailing slash. */
  readonly url: string;
  readonly hasConsole: boolean;
  readonly hasDocs: boolean;
  /** Key generated for this run; null if the operator set one, which is never shown. */
  readonly generatedKey: string | null;
  readonly warnings: readonly string[];
}

const SHOWN_HASH_DIGITS = 12;

/** Returns a few lines; the commands after "Try" can be pasted into a shell. */
export function banner({
  database,
  zones,
  head,
  url,
  hasConsole,
  hasDocs,
  generatedKey,
  warnings,
}: StartReport): string {
  const api = `${url}/api/v1`;
  const rows: readonly (readonly [string, string | null])[] = [
    ...warnings.map((warning) => ['WARNING', warning] as const),
    ['Database', database],
    ['Chain', chainState(head)],
    ['Zones', `IANA ${zones}`],
    ['API', api],
    ['Console', hasConsole ? `${url}/console` : null],
    ['Docs', hasDocs ? `${url}/docs` : null],
    ['Health', `${api}/health`],
    ['API key', generatedKey === null ? null : `${generatedKey} (for this run only; set API_KEY to keep one)`],
    ['Try', head.sequence === 0 ? firstActions(generatedKey) : `curl ${api}/health`],
  ];
  const lines = rows.flatMap(([name, value]) => (value === null ? [] : `  ${name.padEnd(8)}  ${value}`));
  const commands = head.sequence === 0 ? ['', ...firstCommands(api, generatedKey)] : [];
  return ['', 'The governance service is ready.', ...lines, ...commands, '', ''].join('\n');
}

/** Returns the address of the server for a browser on this machine; a wildcard address becomes localhost. */
export function localUrl(host: string, port: number): string {
  const meansAll = host === '0.0.0.0' || host === '::';
  const name = meansAll ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

function chainState({ sequence, hash }: StartReport['head']): string {
  if (sequence === 0) return 'empty';
  return `${sequence} ${sequence === 1 ? 'entry' : 'entries'}, head ${hash.slice(0, SHOWN_HASH_DIGITS)}…`;
}

/**
 * Suggests first actions. If the operator has set the key, another terminal needs it, too: the service occupies the
 * first one.
 */
function firstActions(generatedKey: string | null): string {
  const actions = 'an action that is allowed and one that is denied';
  return generatedKey === null ? `${actions}, in a terminal where API_KEY is set to your key:` : `${actions}:`;
}

/** Returns commands for an empty database, because names are unique. A key set by the operator is not shown. */
function firstCommands(api: string, generatedKey: string | null): string[] {
  const execution = { action: 'read-report', resourceType: 'document' };
  const requests: readonly (readonly [string, object])[] = [
    ['agents', { name: 'report-bot', description: 'Reads reports.', capabilities: ['read-report'] }],
    [
      'policies',
      {
        name: 'report-bot-may-read',
        version: '1.0',
        effect: 'allow',
        subjects: ['agent:report-bot'],
        actions: ['read-report'],
        resources: ['reports/*'],
        priority: 10,
      },
    ],
    ['agents/report-bot/execute', { ...execution, resourceId: 'reports/2026' }],
    ['agents/report-bot/execute', { ...execution, resourceId: 'salaries/2026' }],
  ];
  return [
    `key=${generatedKey ?? '"$API_KEY"'}`,
    `post() { curl -sS -H "X-API-Key: $key" -H 'Content-Type: application/json' "${api}/$1" -d "$2"; echo; }`,
    ...requests.map(([path, body]) => `post ${path} '${JSON.stringify(body)}'`),
  ];
}
