import { setTimeout as delay } from 'node:timers/promises';
import type { Effort } from '../support/effort';
import { printLine, printRatio, printSingleRatio } from '../support/report';
import { ServerProcess } from '../support/server-process';
import { ratioOf } from '../support/statistics';
import type { Workplace } from '../support/workplace';
import { type Browser, launchBrowser, type Page } from './browser';

const PROPOSER = 'payment-bot';
const PENDING = 10_000;
const AT_ONCE = 50;
const CONSOLES = 50;
/** Seconds for which the open consoles are observed: consoles without `audit` send requests every ten seconds. */
const REST = 60;
/** The scopes of each caller; a caller with `audit` follows the events. */
const CALLERS = [
  ['review', 'read', 'audit'],
  ['review', 'read'],
  ['audit', 'read'],
] as const;
/** Milliseconds after which a decision that has not appeared never will. */
const MAX_WAIT_MS = 30_000;
/** Bars: two in milliseconds, and the share of one core. */
const BARS = { firstPaint: 1_000, newDecision: 1_000, atRest: 0.05 } as const;

/** Measures the cost of the console: its first look at many pending decisions, and many open consoles. */
export async function benchmarkConsole(workplace: Workplace, { rounds }: Effort): Promise<void> {
  printLine();
  const browser = await launchBrowser();
  if (browser === null) {
    printLine('SKIPPED: needs Chromium, at CHROMIUM_PATH or /usr/bin/chromium, and `npm ci` in console/.');
    return;
  }
  try {
    const service = await ServerProcess.start(workplace, 'service', 'console');
    await service.send('POST', '/api/v1/agents', { name: PROPOSER, capabilities: ['pay'] });
    await propose(service, PENDING);
    const keys = await Promise.all(CALLERS.map((scopes, index) => keyOf(service, `reviewer-${index}`, scopes)));
    const [first = ''] = keys;
    const page = await signedIn(browser, service, first);
    await benchmarkInbox(page, service, rounds);
    await benchmarkRest(browser, service, keys);
  } finally {
    await browser.close();
  }
}

async function benchmarkInbox(page: Page, service: ServerProcess, rounds: number): Promise<void> {
  const paints: number[] = [];
  const groups: number[] = [];
  const arrivals: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    await page.reload();
    // The requests of a long list are folded by agent and action.
    await page.locator('main details summary').first().waitFor();
    groups.push(await page.evaluate('performance.now()'));
    paints.push(await page.evaluate('performance.getEntriesByName("first-contentful-paint")[0].startTime'));
    await propose(service, 1);
    arrivals.push(await untilCounted(page, PENDING + round));
  }
  printMilliseconds(`first paint of the inbox, ${PENDING} pending`, paints, BARS.firstPaint);
  printMilliseconds(`first group of the inbox, ${PENDING} pending`, groups, BARS.firstPaint);
  printMilliseconds('a new decision appears', arrivals, BARS.newDecision);
}

/**
 * Returns the milliseconds until the title shows the count: nothing else shows a decision at the end of a long list.
 */
async function untilCounted(page: Page, count: number): Promise<number> {
  const start = performance.now();
  while (!(await page.evaluate<string>('document.title')).startsWith(`(${count})`)) {
    if (performance.now() - start > MAX_WAIT_MS) throw new Error(`The title does not count ${count} decisions.`);
    await delay(10);
  }
  return performance.now() - start;
}

function printMilliseconds(label: string, values: readonly number[], bar: number): void {
  printRatio(`${label} / ${bar} ms`, ratioOf(values, values.map(() => bar)), { atMost: 1 }); // prettier-ignore
}

async function benchmarkRest(browser: Browser, service: ServerProcess, keys: readonly string[]): Promise<void> {
  for (let index = 1; index < CONSOLES; index += 1) {
    await signedIn(browser, service, keys[index % keys.length] ?? '');
  }
  await delay(5_000);
  const before = service.processorSeconds;
  await delay(REST * 1_000);
  const share = (service.processorSeconds - before) / REST;
  printSingleRatio(`${CONSOLES} consoles at rest: share of a core / ${BARS.atRest}`, share / BARS.atRest, {
    atMost: 1,
  });
}

/** Signs in on a new page. The key stays in the tab, so that a reload shows the inbox again. */
async function signedIn(browser: Browser, { url }: ServerProcess, key: string): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(`${url}/console`);
  await page.getByLabel('Your key').fill(key);
  await page.locator('input[name="keep"]').check();
  await page.locator('button[type="submit"]').click();
  await page.getByLabel('Your key').waitFor({ state: 'detached' });
  return page;
}

async function keyOf(service: ServerProcess, name: string, scopes: readonly string[]): Promise<string> {
  await service.send('POST', '/api/v1/agents', { name, kind: 'human', capabilities: ['review'], roles: ['finance'] });
  const key = await service.send('POST', '/api/v1/api-keys', { name, scopes, agentId: name });
  return (key as { secret: string }).secret;
}

/** Proposes decisions that wait for an approval of finance. */
async function propose(service: ServerProcess, count: number): Promise<void> {
  const body = {
    type: 'payment',
    title: 'Pay an invoice',
    description: 'As agreed.',
    riskLevel: 'high',
    proposedBy: PROPOSER,
    approvers: [{ subjects: ['role:finance'] }],
  };
  for (let start = 0; start < count; start += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - start) }, () =>
      service.send('POST', '/api/v1/decisions', body),
    );
    await Promise.all(some);
  }
}
