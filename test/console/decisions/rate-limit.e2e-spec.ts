import { askToPay, companyStage } from '../company';
import { describeInBrowser, type Page, signIn } from '../browser';

/**
 * `CONSOLE_MINUTES=60` clicks for an hour; by default a minute's clicks are made as a sample, without waiting for its
 * end.
 */
const MINUTES = Number(process.env['CONSOLE_MINUTES'] ?? '1');
const SCREENS = ['Overview', 'Activity', 'Policies', 'Agents and keys', 'Proof', 'Inbox'];
const MINUTE = 60_000;

describeInBrowser('A person at work in the console', () => {
  // The default; creating the company counts as well.
  const stage = companyStage(() => ({ RATE_LIMIT: '100', MAX_PENDING_APPROVALS: '1000' }));

  async function clickForAMinute(page: Page, minute: number): Promise<void> {
    const navigation = page.getByRole('navigation', { name: 'Screens' });
    for (const screen of SCREENS) {
      await navigation.getByRole('link', { name: screen }).click();
      await page.getByRole('heading', { level: 1, name: screen }).waitFor();
      await page.locator('.loading').first().waitFor({ state: 'detached' });
    }
    for (const invoice of [`first of ${minute}`, `second of ${minute}`]) {
      const { decisionId } = await askToPay(stage.company, { invoice });
      await page
        .getByRole('link', { name: /pay-invoice/ })
        .first()
        .waitFor();
      await page.locator(`a[href$="${decisionId}"]`).click();
      await page.getByRole('button', { name: 'Approve' }).click();
      await page.getByText('You have reviewed it. It waits for others.').waitFor();
      await page.getByRole('link', { name: '← Inbox' }).click();
    }
  }

  it(
    'never reaches the rate limit',
    async () => {
      const page = await stage.browser.open(`${stage.company.program.url}/console`);
      let answers = 0;
      const refusals: string[] = [];
      page.on('response', (response) => {
        answers += 1;
        if (response.status() >= 400)
          refusals.push(`${response.status()} ${response.request().method()} ${response.url()}`);
      });
      await signIn(page, stage.company.sara.key);
      for (let minute = 0; minute < MINUTES; minute += 1) {
        const began = Date.now();
        await clickForAMinute(page, minute);
        if (minute + 1 < MINUTES) await page.waitForTimeout(Math.max(0, MINUTE - (Date.now() - began)));
      }
      expect(refusals).toEqual([]);
      expect(answers).toBeGreaterThan(40);
      expect(stage.browser.takeFaults()).toEqual([]);
    },
    (MINUTES + 2) * MINUTE,
  );
});
