import { setTimeout as sleep } from 'node:timers/promises';
import type { History } from './history';

/** Milliseconds between two checks. */
const INTERVAL = 25;
/** Milliseconds; a busy machine may be slow. */
const PATIENCE = 60_000;

/** Repeatedly requests the health and a list, until it is stopped or nobody answers. */
export async function watch(url: string, history: History, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if ((await history.lookAtHealth(url)) === null) return;
    await history.read(url, 'entities?limit=5');
    await sleep(INTERVAL);
  }
}

/** Waits until the service reports that it is healthy. It must do so without a restart. */
export async function untilHealthy(url: string, history: History, patience = PATIENCE): Promise<void> {
  await until('the service is healthy', async () => (await history.lookAtHealth(url)) === 200, patience);
}

/** Waits for a condition, and fails if it does not become true. */
export async function until(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  patience = PATIENCE,
): Promise<void> {
  const end = performance.now() + patience;
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error(`Waited in vain until ${what}.`);
    await sleep(INTERVAL);
  }
}
