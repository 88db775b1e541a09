/**
 * Creates the pictures of docs/images: starts the built service on an empty database, creates the demo company with the
 * console's own button, and captures each screen, light and dark. Chromium is on the path or at CHROMIUM_PATH.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const root = fileURLToPath(new URL('..', import.meta.url));
const images = join(root, 'docs', 'images');
const API_KEY = 'a-key-for-taking-pictures';
const SCREENS = ['overview', 'activity', 'explain', 'policies', 'agents', 'entities', 'proof', 'health'];
const WIDTH = 1200;
const HEIGHT = 800;

const folder = mkdtempSync(join(tmpdir(), 'console-pictures-'));
const service = spawn(process.execPath, [join(root, 'dist', 'main.js')], {
  cwd: folder,
  env: { ...process.env, PORT: '0', HOST: '127.0.0.1', API_KEY, RATE_LIMIT: '100000', LOG_LEVEL: 'warn' },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH || '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
try {
  mkdirSync(images, { recursive: true });
  const url = await listening();
  const keys = await makeCompany(url);
  for (const colorScheme of ['light', 'dark']) await takeAll(url, keys, colorScheme);
} finally {
  await browser.close();
  service.kill();
  rmSync(folder, { recursive: true, force: true });
}

function listening() {
  return new Promise((resolve, reject) => {
    let printed = '';
    service.stdout.on('data', (chunk) => {
      printed += chunk;
      const found = /^ *API {2,}(http\S+)\/api\/v1$/m.exec(printed)?.[1];
      if (found !== undefined) resolve(found);
    });
    service.on('close', () => reject(new Error(`The service ended: ${printed}`)));
  });
}

async function open(url, key, colorScheme, height = HEIGHT) {
  const context = await browser.newContext({
    viewport: { width: WIDTH, height },
    colorScheme,
    locale: 'en-GB',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  await page.goto(`${url}/console/inbox`);
  await page.getByLabel('Your key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
  return page;
}

/** Returns the keys by the names of their agents. */
async function makeCompany(url) {
  const page = await open(url, API_KEY, 'light');
  await page.getByRole('button', { name: 'Create the demo company' }).click();
  await page.getByText('These keys are shown only once.').waitFor();
  const texts = await page.locator('main dt, main dd').allInnerTexts();
  await page.context().close();
  return new Map(texts.flatMap((text, index) => (index % 2 === 0 ? [[text, texts[index + 1]]] : [])));
}

async function takeAll(url, keys, colorScheme) {
  const take = async (page, name) => {
    await page.locator('.loading').first().waitFor({ state: 'detached' });
    await page.evaluate('scrollTo(0, 0)');
    await page.screenshot({ path: join(images, `${name}-${colorScheme}.png`) });
  };
  const page = await open(url, keys.get('ann'), colorScheme);
  await take(page, 'inbox');
  await page
    .getByRole('link', { name: /Lindqvist|pay-invoice/ })
    .first()
    .click();
  await page.getByRole('button', { name: 'Approve' }).waitFor();
  await page.setViewportSize({ width: WIDTH, height: 1500 });
  await take(page, 'decision');
  const operator = await open(url, API_KEY, colorScheme);
  for (const screen of SCREENS) {
    await operator.locator(`nav a[href="/console/${screen}"]`).click();
    if (screen === 'explain') await explain(operator);
    if (screen === 'proof') await operator.getByText('Your browser computed the hashes').waitFor();
    await take(operator, screen);
  }
  await page.context().close();
  await operator.context().close();
}

async function explain(page) {
  await page.getByLabel('Agent').fill('payables-bot');
  await page.getByLabel('Action').fill('pay-invoice');
  await page.getByLabel('Resource type').fill('supplier');
  await page.getByLabel('Resource', { exact: true }).fill('suppliers/1');
  await page.getByLabel(/Arguments/).fill('{ "amount": 240 }');
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByRole('heading', { name: 'The answer' }).waitFor();
}
