import { createRequire } from 'node:module';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { CONSOLE, type Page } from './browser';

const AXE = readFileSync(createRequire(join(CONSOLE, 'package.json')).resolve('axe-core'), 'utf8');

/** Returns a line for each fault that axe reports against WCAG 2.2 AA and best practices. */
export async function violations(page: Page): Promise<string[]> {
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  return page.evaluate(`(async () => {
    const { violations } = await window.axe.run(document);
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200)));
  })()`);
}

/** Injects axe into the page, bypassing the page's own policy. */
export async function withAxe(page: Page): Promise<void> {
  await page.evaluate(AXE);
}

/** Pixels by which the page is wider than its window. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

/** Counts what the page holds, without what it only has not thrown away yet. */
export async function held(page: Page): Promise<{ readonly nodes: number; readonly listeners: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { nodes, jsEventListeners } = await session.send('Memory.getDOMCounters');
  await session.detach();
  return { nodes, listeners: jsEventListeners };
}
