import { send } from '../support/application/send';
import { describeInBrowser, signIn } from './browser';
import { askToPay, companyStage } from './company';

describeInBrowser('Approving in the console', () => {
  const stage = companyStage();

  it('two people of two groups approve in two windows, and the agent goes on', async () => {
    const { program, finn, sara, bot } = stage.company;
    const finnsPage = await stage.browser.open(`${program.url}/console`);
    await signIn(finnsPage, finn.key);
    const sarasPage = await stage.browser.open(`${program.url}/console`);
    await signIn(sarasPage, sara.key);
    await sarasPage.getByText('Nothing is waiting for you.').waitFor();

    const asked = await askToPay(stage.company);
    // Live for who may follow the trail; the other finds it when the page is loaded anew. A second is promised; a busy machine has five.
    const row = sarasPage.getByRole('link', { name: /pay-invoice on supplier\/Nordwind GmbH/ });
    await row.waitFor({ timeout: 5_000 });
    expect(await row.innerText()).toMatch(
      /high risk[^]*payment-bot[^]*needs 1 of security and 1 of finance[^]*you can approve it/,
    );
    expect(await sarasPage.title()).toMatch(/^\(1\) Inbox/);
    await row.click();
    expect(new URL(sarasPage.url()).pathname).toBe(`/console/decisions/${asked.decisionId}`);
    const main = sarasPage.getByRole('main');
    await main.getByText('Payments of 10,000 or more need finance and security.').waitFor();
    await main.getByText('2 contradicting values').waitFor();
    expect(await main.innerText()).toMatch(/\/amount is at least 10000; here it is 18400/);
    expect(await main.innerText()).toMatch(/bot-may-pay 1.0 would allow it, but requiring approval takes precedence/);
    await sarasPage.getByLabel(/Comment/).fill('The account is that of the contract.');
    await main.getByRole('listitem').filter({ hasText: 'mail of 3 March' }).getByText('in this request').waitFor();
    await sarasPage.getByRole('button', { name: 'Approve' }).click();
    await main.getByText('Your review is recorded. The decision still needs 1 of finance.').waitFor();
    expect(await sarasPage.evaluate('document.activeElement.id')).toBe('main');
    await main.getByText('You have reviewed it. It waits for others.').waitFor();

    await finnsPage.goto(`${program.url}/console/decisions/${asked.decisionId}`);
    await signIn(finnsPage, finn.key);
    await finnsPage.getByText('The account is that of the contract.').waitFor();
    await finnsPage.getByRole('button', { name: 'Approve' }).click();
    await finnsPage.getByText('It was approved. The agent has not continued yet.').waitFor();
    await main.getByText('It was approved. The agent has not continued yet.').waitFor();

    const resumed = await send(program, 'POST', `/api/v1/executions/${asked.id}/resume`, { key: bot.key });
    expect([resumed.status, resumed.body.outcome]).toEqual([200, 'authorized']);
    await main.getByText('The agent continued with the approval and has not reported a result yet.').waitFor();
    const story = await main.getByRole('list').filter({ hasText: 'Continued with the approval' }).innerText();
    expect(story).toMatch(
      /sent for approval[^]*Approved by sara[^]*Gave the final approval by finn[^]*Continued[^]*by payment-bot/,
    );
    const result = { outcome: 'executed', result: { transfer: 'T-1' } };
    await send(program, 'POST', `/api/v1/executions/${asked.id}/result`, { key: bot.key, body: result });
    await main.getByText('It was carried out.').waitFor();
    await sarasPage.getByRole('link', { name: 'Activity' }).click();
    const reported = main.getByRole('listitem').filter({ hasText: 'Reported the result' });
    expect(await reported.innerText()).toContain('pay-invoice on supplier/Nordwind GmbH by payment-bot');
  });

  it('whoever may not follow the trail looks every ten seconds, and reads the list again when something was written', async () => {
    const { program, finn } = stage.company;
    const page = await stage.browser.open(`${program.url}/console`);
    await page.clock.install();
    await page.reload();
    const asks: string[] = [];
    page.on('request', (request) => asks.push(new URL(request.url()).pathname));
    const lists = (): number => asks.filter((path) => path.endsWith('/decisions')).length;
    await signIn(page, finn.key);
    await page.getByText('Updates every 10 s').waitFor();
    // What waits for finn, and all: once as the page opens.
    while (lists() < 2) await page.clock.runFor(100);
    await Promise.all([page.waitForResponse(/\/stats$/), page.clock.runFor(10_000)]);
    await page.clock.runFor(1_000);
    expect(lists()).toBe(2);
    const { decisionId } = await askToPay(stage.company, { invoice: 'seen at the next look' });
    await Promise.all([page.locator(`a[href$="${decisionId}"]`).waitFor(), page.clock.runFor(10_000)]);
  });

  it('a hidden page closes its event stream, and one that is shown again opens it', async () => {
    const { program, sara } = stage.company;
    const page = await stage.browser.open(`${program.url}/console`);
    const isStream = (request: { url(): string }): boolean => request.url().includes('/api/v1/events');
    await Promise.all([page.waitForRequest(isStream), signIn(page, sara.key)]);
    const show = (hidden: boolean): Promise<unknown> =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} });
        document.dispatchEvent(new Event('visibilitychange'));`);
    await Promise.all([page.waitForEvent('requestfailed', isStream), show(true)]);
    await page.getByText('Paused').waitFor();
    await Promise.all([page.waitForRequest(isStream), show(false)]);
    await page.getByText('Live', { exact: true }).waitFor();
  });

  it('the key is in no URL and in no storage unless that is asked for', async () => {
    const { program, finn } = stage.company;
    const page = await stage.browser.open(`${program.url}/console`);
    await signIn(page, finn.key);
    const kept = (): Promise<string> =>
      page.evaluate('JSON.stringify([location.href, { ...sessionStorage }, { ...localStorage }, document.cookie])');
    expect(await kept()).not.toContain(finn.key);
    await page.reload();
    await page.getByLabel('Stay signed in').check();
    await signIn(page, finn.key);
    await page.reload();
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Your key').waitFor();
    expect(await kept()).not.toContain(finn.key);
  });
});
