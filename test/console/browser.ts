import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import type { Browser, BrowserContext, Page } from '../../console/node_modules/playwright-core';
import { ROOT } from '../support/documents/markdown';
import { keepSecret } from '../support/application/secret-watch';

export type { Page };

/** The browser tools that the console's tests use. */
export const CONSOLE = join(ROOT, 'console');

/** A host name that resolves to this machine, and that the browser treats as another one. */
export const ELSEWHERE = 'console.example';

/** The headless shell comes first: the same engine and JavaScript, for a third of the processor time. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

/** The path of Chromium: from the environment, or found on the search path. */
function chromiumPath(): string | null {
  const configuredPath = process.env['CHROMIUM_PATH'];
  if (configuredPath !== undefined && configuredPath !== '') return configuredPath;
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const places = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return places.find((place) => existsSync(place)) ?? null;
}

/** Describes tests in a real browser. Without one they are skipped and say so; with CI=true they fail. */
export function describeInBrowser(title: string, tests: () => void): void {
  if (chromiumPath() !== null || process.env['CI'] === 'true') {
    describe(title, tests);
    return;
  }
  process.stdout.write(`SKIPPED: ${title} needs Chromium or its headless shell, on the path or at CHROMIUM_PATH.\n`);
  describe.skip(`${title} (skipped: needs Chromium)`, tests);
}

export interface Window {
  readonly page: Page;
  /**
   * Faults that no page may have: an error in its console, a request to another origin, a violation of its own policy.
   */
  readonly faults: readonly string[];
}

export interface WindowOptions {
  /** Origins other than the service to which the page may send requests. */
  readonly origins?: readonly string[];
  /** Origins to which an issuer's own pages would send requests; these are blocked. */
  readonly theirs?: readonly string[];
  readonly width?: number;
  readonly dark?: boolean;
  /** Patterns of messages that the test itself provokes. */
  readonly expected?: readonly RegExp[];
}

/** The browser of one test file. */
export class TestBrowser {
  private readonly windows: Window[] = [];
  private readonly contexts: BrowserContext[] = [];

  private constructor(private readonly browser: Browser) {}

  /** @param textSize pixels of text whose size a page leaves open, as the reader has set them in the browser. */
  static async launch(textSize = 16): Promise<TestBrowser> {
    const path = chromiumPath();
    if (path === null) throw new Error('These tests need Chromium, on the path or at CHROMIUM_PATH.');
    const { chromium } = createRequire(join(CONSOLE, 'package.json'))('playwright-core') as {
      chromium: { launch(options: object): Promise<Browser> };
    };
    const settings = `--blink-settings=defaultFontSize=${textSize},defaultFixedFontSize=${(textSize * 13) / 16}`;
    const args = ['--no-sandbox', settings, `--host-resolver-rules=MAP ${ELSEWHERE} 127.0.0.1`];
    return new TestBrowser(await chromium.launch({ executablePath: path, args }));
  }

  /** Opens a window that shares nothing with others. */
  async open(
    url: string,
    { origins = [], theirs = [], width = 1280, dark = false, expected = [] }: WindowOptions = {},
  ): Promise<Page> {
    const context = await this.browser.newContext({
      viewport: { width, height: 860 },
      colorScheme: dark ? 'dark' : 'light',
      timezoneId: 'Europe/Berlin',
      locale: 'en-GB',
      reducedMotion: 'reduce',
    });
    this.contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    const faults: string[] = [];
    const { origin: own } = new URL(url);
    const allowed = [own, ...origins];
    // The pages of an issuer are not ours to check.
    const isOurs = (): boolean => page.url() === 'about:blank' || new URL(page.url()).origin === own;
    await context.route(
      ({ origin, protocol }) => protocol.startsWith('http') && !allowed.includes(origin),
      (route) => route.abort(),
    );
    page.on('console', (message) => {
      const text = `${message.type()}: ${message.text()}`;
      const counts = message.type() === 'error' || message.type() === 'warning';
      if (counts && isOurs() && !expected.some((pattern) => pattern.test(text))) faults.push(text);
    });
    page.on('pageerror', (error) => faults.push(`uncaught: ${error.message}`));
    page.on('request', (request) => {
      const { protocol, origin } = new URL(request.url());
      const isLocal = protocol === 'data:' || protocol === 'blob:';
      if (!isLocal && ![...allowed, ...theirs].includes(origin)) faults.push(`request to ${origin}`);
    });
    await page.exposeFunction('reportBreach', (directive: string) => faults.push(`policy breached: ${directive}`));
    await page.addInitScript({
      content: `addEventListener('securitypolicyviolation', (event) => reportBreach(event.violatedDirective));`,
    });
    this.windows.push({ page, faults });
    await page.goto(url);
    return page;
  }

  /** Returns the faults in all windows so far, and forgets them. */
  takeFaults(): string[] {
    return this.windows.flatMap(({ faults }) => (faults as string[]).splice(0));
  }

  async closeWindows(): Promise<void> {
    await Promise.all(this.contexts.splice(0).map((context) => context.close()));
  }

  async close(): Promise<void> {
    await this.closeWindows();
    await this.browser.close();
  }
}

/** Signs in with a key, as a person does. */
export async function signIn(page: Page, key: string): Promise<void> {
  keepSecret(key);
  await page.getByLabel('Your key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Screens' }).waitFor();
}
