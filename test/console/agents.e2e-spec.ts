import { createAgent, createPolicy } from '../support/application/factories';
import { describeInBrowser, signIn } from './browser';
import { companyStage } from './company';

describeInBrowser("The console's agents", () => {
  const stage = companyStage();

  it('may do what the policies now in force say, in each place that they name and anywhere else', async () => {
    const { program, bot, sara } = stage.company;
    await createPolicy(program, {
      name: 'types',
      actions: ['read-invoice'],
      resources: ['paid/*'],
      resourceTypes: ['invoice', 'receipt'],
    });
    const page = await stage.browser.open(`${program.url}/console/agents/${bot.id}`);
    await signIn(page, sara.key);
    const rights = page.getByRole('region', { name: 'What it may do' }).getByRole('listitem');
    await rights.first().waitFor();
    expect(await rights.allInnerTexts()).toEqual([
      expect.stringMatching(
        /^require approval\s+pay-invoice\s+anything\s+With arguments it depends on large-payments.$/,
      ),
      expect.stringMatching(/^allow\s+read-invoice\s+invoice paid\/\*$/),
      expect.stringMatching(/^allow\s+read-invoice\s+receipt paid\/\*$/),
      expect.stringMatching(/^deny\s+read-invoice\s+anything else/),
    ]);
    await createPolicy(program, { name: 'no-payments', effect: 'deny', actions: ['pay-invoice'], priority: 9 });
    await rights.filter({ hasText: /^deny\s+pay-invoice/ }).waitFor();
  });

  it('are issued keys whose secrets are not lost with the screen, nor with the page unless somebody says so', async () => {
    const { program } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/agents`);
    await signIn(page, program.key);
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/api-keys', async (route) => {
      if (route.request().method() === 'POST') await released;
      await route.continue();
    });
    for (const name of ['to keep', 'to keep, too']) {
      await page.getByRole('button', { name: 'Issue a key' }).click();
      await page.getByLabel('Name').fill(name);
      await page.getByRole('button', { name: 'Issue the key' }).click();
      // The answer arrives on another screen.
      await page.getByRole('link', { name: 'Policies' }).click();
      await page.getByRole('heading', { level: 1, name: 'Policies' }).waitFor();
      release();
      await page
        .getByRole('status')
        .filter({ hasText: `The key ${name} is issued.` })
        .waitFor();
      await page.goBack();
      await page.getByRole('heading', { level: 1, name: 'Agents and keys' }).waitFor();
    }
    const secrets = page.getByRole('status').getByText(/^agk_/);
    expect(await secrets.count()).toBe(2);
    const asked = page.waitForEvent('dialog');
    const left = page.reload().catch(() => undefined);
    const dialog = await asked;
    expect(dialog.type()).toBe('beforeunload');
    await dialog.dismiss();
    await left;
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('alert').filter({ hasText: 'not saved yet' }).waitFor();
    expect(await secrets.count()).toBe(2);
    for (let saved = 0; saved < 2; saved += 1)
      await page.getByRole('button', { name: 'I have saved it' }).first().click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Your key').waitFor();
  });

  it('are listed further without losing the place, and one that is not listed can be named', async () => {
    const { program } = stage.company;
    for (let agent = 0; agent < 60; agent += 1) await createAgent(program, { name: `worker ${agent}` });
    const page = await stage.browser.open(`${program.url}/console/agents`);
    await signIn(page, program.key);
    const more = page.getByRole('button', { name: 'Show more' });
    await more.waitFor();
    await more.focus();
    await page.evaluate('window.more = document.activeElement');
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/agents?*', async (route) => {
      await released;
      await route.continue();
    });
    await Promise.all([page.waitForRequest('**/agents?*'), page.keyboard.press('Enter')]);
    expect(await page.evaluate('document.activeElement === window.more')).toBe(true);
    release();
    await page.getByRole('link', { name: /payment-bot/ }).waitFor();
    await page.getByRole('button', { name: 'Issue a key' }).click();
    await page.getByLabel('Name').fill('for the first worker');
    await page.getByLabel('Acts as').fill('worker 0');
    await page.getByRole('button', { name: 'Issue the key' }).click();
    await page.getByRole('status').getByText(/^agk_/).waitFor();
    await page
      .getByRole('listitem')
      .filter({ hasText: 'for the first worker' })
      .getByText('acts as worker 0')
      .waitFor();
  });
});
