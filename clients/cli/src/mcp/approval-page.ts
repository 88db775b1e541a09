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
  const configuration = await answer(`${serviceUrl}/.well-known/authzen-configuration`);
  const origin = ((await configuration?.json()) as { policy_decision_point?: string } | undefined)
    ?.policy_decision_point;
  if (origin === undefined) return null;
  const page = await answer(`${serviceUrl}/${CONSOLE}/`);
  await page?.body?.cancel();
  return page === null ? null : `${origin}/${CONSOLE}`;
}

/** Null for every answer but a success. */
async function answer(url: string): Promise<Response | null> {
  try {
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT) });
    if (response.ok) return response;
    await response.body?.cancel();
    return null;
  } catch {
    // Without the service there is no page.
    return null;
  }
}
