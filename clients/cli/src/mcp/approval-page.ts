/** The name of the service's own page for decisions. */
const CONSOLE = 'console';
/** Time limit in milliseconds: a service that does not answer has no page. */
const TIMEOUT = 5_000;

/**
 * Finds where a person decides: a page of the console, below the service's public address. Null where the service has
 * no public address, or no console; the request is repeated until there is one.
 */
export function approvalPages(serviceUrl: string): (decisionId: string) => Promise<string | null> {
  let pageUrl: string | null = null;
  return async (decisionId) => {
    pageUrl ??= await consoleOf(serviceUrl);
    return pageUrl === null ? null : `${pageUrl}/decisions/${decisionId}`;
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

/** Parses a successful response; null for any other, and for one that cannot be read. */
async function answer(url: string, parse: (response: Response) => Promise<unknown>): Promise<unknown> {
  try {
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT) });
    if (response.ok) return await parse(response);
    await response.body?.cancel();
    return null;
  } catch {
    // Without the service there is no page.
    return null;
  }
}
