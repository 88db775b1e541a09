import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Compiled, the benchmark runs in `node_modules/.cache/bench/bench/console`. */
const CONSOLE = join(__dirname, '../../../../../console');

/**
 * The part of a playwright-core page that the benchmark uses. The console installs that package, the service does not.
 */
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
  /** Opens a page in a window that shares nothing with others. */
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

/** Starts a browser; null if Chromium or the console's tools are missing. */
export async function launchBrowser(): Promise<Browser | null> {
  const executablePath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';
  if (!existsSync(executablePath) || !existsSync(join(CONSOLE, 'node_modules', 'playwright-core'))) return null;
  const { chromium } = createRequire(join(CONSOLE, 'package.json'))('playwright-core') as {
    chromium: { launch(options: object): Promise<Browser> };
  };
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}
