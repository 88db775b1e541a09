import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Compiled, the benchmark runs in `node_modules/.cache/bench/bench/console`. */
const CONSOLE = join(__dirname, '../../../../../console');

/** What the benchmark uses of a page of playwright-core, which is installed with the console and not with the service. */
export interface Page {
  goto(url: string): Promise<unknown>;
  reload(): Promise<unknown>;
  evaluate<Result>(expression: string): Promise<Result>;
  locator(selector: string): Locator;
  getByLabel(text: string): Locator;
}

interface Locator {
  first(): Locator;
  check(): Promise<void>;
  click(): Promise<void>;
  fill(text: string): Promise<void>;
  waitFor(options?: { readonly state?: 'detached' }): Promise<void>;
}

export interface Browser {
  /** In a window that shares nothing with others. */
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

/** Null where there is no Chromium, or the console's tools are not installed. */
export async function launchBrowser(): Promise<Browser | null> {
  const executablePath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';
  if (!existsSync(executablePath) || !existsSync(join(CONSOLE, 'node_modules', 'playwright-core'))) return null;
  const { chromium } = createRequire(join(CONSOLE, 'package.json'))('playwright-core') as {
    chromium: { launch(options: object): Promise<Browser> };
  };
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}
