import { join } from 'node:path';
import { ROOT } from '../../support/documents/markdown';
import { startProgram, type StartedProgram } from '../../support/processes/started-program';
import { describeInBrowser, signIn, TestBrowser } from '../browser';

describeInBrowser('The console of an empty service', () => {
  it('shows what failed when only a part of the demo company could be made, and the keys that were issued', async () => {
    const empty = await startProgram(join(ROOT, 'dist', 'main.js'));
    const own = await TestBrowser.launch();
    const page = await own.open(`${empty.url}/console`, { expected: [/status of 40[03]/] });
    await signIn(page, empty.key);
    // The last of its parts, when decisions are waiting already.
    await page.route('**/api/v1/decisions', async (route) => {
      if (route.request().method() === 'GET') return route.continue();
      return route.fulfill({ status: 400, json: { error: { code: 'VALIDATION_ERROR', message: 'Not this one.' } } });
    });
    await page.getByRole('button', { name: 'Create the demo company' }).click();
    await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Inbox' }).click();
    await page.getByRole('link', { name: /pay-invoice on/ }).waitFor();
    await page.getByRole('alert').filter({ hasText: 'Not this one.' }).waitFor();
    const notice = page.getByRole('status').filter({ hasText: 'is incomplete' });
    const key = await notice.locator('dt:text-is("ann") + dd').innerText();
    const mine = await empty.send('GET', '/api/v1/me', { key });
    expect(mine.status).toBe(200);
    await notice.getByRole('button', { name: 'I have saved them' }).click();
    await page.getByRole('alert').filter({ hasText: 'Not this one.' }).waitFor();
    await own.close();
    await empty.stop();
  });

  let program: StartedProgram;
  let browser: TestBrowser;

  beforeAll(async () => {
    // On a fast machine, making the company and looking around take more than the default limit of a minute.
    program = await startProgram(join(ROOT, 'dist', 'main.js'), { RATE_LIMIT: '1000' });
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser.close();
    await program.stop();
  });

  it('shows how to begin, and creates the demo company at the press of a button, once', async () => {
    // A policy denies one of the company's requests: that is part of its story.
    const page = await browser.open(`${program.url}/console`, { expected: [/status of 403/] });
    await signIn(page, program.key);
    await page.getByRole('button', { name: 'Create the demo company' }).click();
    // Looking around loses none of the keys.
    const go = async (screen: string): Promise<void> => {
      await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: screen }).click();
      await page.getByRole('heading', { level: 1, name: screen }).waitFor();
    };
    const keysNotice = page.getByText('These keys are shown only once.');
    for (const screen of ['Policies', 'Inbox']) await go(screen);
    await keysNotice.waitFor();
    for (const screen of ['Policies', 'Inbox']) await go(screen);
    await keysNotice.waitFor();
    const key = await page.locator('dt:text-is("ann") + dd').innerText();
    await page.getByRole('button', { name: 'I have saved them' }).click();
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    expect(await page.content()).not.toContain(key);
    await page.goto(`${program.url}/console`);
    await signIn(page, program.key);
    await page.getByRole('link', { name: /decisions? waits? for somebody/ }).click();
    await page.getByRole('link', { name: /pay-invoice on supplier\/suppliers\/Lindqvist Timber AB/ }).waitFor();
    expect(await page.getByRole('button', { name: 'Create the demo company' }).count()).toBe(0);
    const anns = await browser.open(`${program.url}/console`);
    await signIn(anns, key);
    await anns
      .getByRole('region', { name: 'Waiting for you' })
      .getByText(/Lindqvist/)
      .click();
    await anns.getByText('payables-pay-alone 1.0 would allow it, but not all of this holds:').waitFor();
    await anns.getByText(/is supported by claims of bank_account with a confidence of at least 0.9/).waitFor();
    expect(browser.takeFaults()).toEqual([]);
  });
});
