/** The name of the service's own page for decisions. */
const CONSOLE = 'console';
/** Milliseconds: a service that does not answer has no page. */
const TIMEOUT = 5_000;

/**
 * Finds where a person decides: a page of the console, below the service's public address. Null where the service has no public
 * address, or no console; asked again until there is one.
 */
export function approvalPages(serviceUrl: string): (decisionId: string) => Promise<string | null> {
  let found: string | null = null;
  return async (decisionId) => {
    found ??= await consoleOf(serviceUrl);
    return found === null ? null : `${found}/decisions/${decisionId}`;
  };
}

async function consoleOf(serviceUrl: string): Promise<string | null> {
  const configuration = await answer(`${serviceUrl}/.well-known/authzen-configuration`, (response) => response.json());
  const { policy_decision_point: origin } = (configuration ?? {}) as { policy_decision_point?: unknown };
  if (typeof origin !== 'string' || !/^https?:\/\//.test(origin) || !URL.canParse(origin)) return null;
  const page = await answer(`${serviceUrl}/${CONSOLE}/`, async ({ body }) => {
    await body?.cancel();
    return true;
  });
  return page === null ? null : `${origin}/${CONSOLE}`;
}

/** What is read from a success; null for every other answer, and for one that cannot be read. */
async function answer(url: string, read: (response: Response) => Promise<unknown>): Promise<unknown> {
  try {
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT) });
    if (response.ok) return await read(response);
    await response.body?.cancel();
    return null;
  } catch {
    // Without the service there is no page.
    return null;
  }
}
