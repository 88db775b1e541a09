import { join } from 'node:path';
import { ROOT } from '../support/documents/markdown';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { describeInBrowser, signIn, TestBrowser } from './browser';

describeInBrowser('The console of an empty service', () => {
  let program: StartedProgram;
  let browser: TestBrowser;

  beforeAll(async () => {
    program = await startProgram(join(ROOT, 'dist', 'main.js'));
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser.close();
    await program.stop();
  });

  it('shows how to begin, and makes the demo company at a button, once', async () => {
    // One request of the company is denied by a policy: that is part of its story.
    const page = await browser.open(`${program.url}/console`, { expected: [/status of 403/] });
    await signIn(page, program.key);
    await page.getByRole('button', { name: 'Create the demo company' }).click();
    await page.getByText('These keys are shown only once.').waitFor();
    const key = await page.locator('dt:text-is("ann") + dd').innerText();
    await page.reload();
    await signIn(page, program.key);
    await page.getByRole('link', { name: /pay-invoice on Lindqvist Timber AB/ }).waitFor();
    expect(await page.getByRole('button', { name: 'Create the demo company' }).count()).toBe(0);
    const anns = await browser.open(`${program.url}/console`);
    await signIn(anns, key);
    await anns
      .getByRole('region', { name: 'Waiting for you' })
      .getByText(/Lindqvist/)
      .waitFor();
    expect(browser.takeFaults()).toEqual([]);
  });
});
