import type { Route } from '../../../console/node_modules/playwright-core';
import { addClaim, createAgent, createEntity, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, signIn } from '../browser';
import { askToPay, companyStage } from '../company';

describeInBrowser('Approving in the console', () => {
  const stage = companyStage();

  it('two people from two groups approve in two windows, and the agent continues', async () => {
    const { program, finn, sara, bot } = stage.company;
    const finnsPage = await stage.browser.open(`${program.url}/console`);
    await signIn(finnsPage, finn.key);
    const sarasPage = await stage.browser.open(`${program.url}/console/inbox`);
    await signIn(sarasPage, sara.key);
    await sarasPage.getByText('Nothing is waiting for you.').waitFor();
    // The time that is promised begins once the page follows the trail.
    await sarasPage.getByText('Live', { exact: true }).waitFor();

    const execution = await askToPay(stage.company);
    // Live for people who may follow the trail; others see it on reload. A second is promised; a busy machine gets
    // five.
    const row = sarasPage.getByRole('link', { name: /pay-invoice on supplier\/Nordwind GmbH/ });
    await row.filter({ hasText: '18400' }).waitFor({ timeout: 5_000 });
    expect(await row.innerText()).toMatch(
      /medium risk[^]*amount":18400[^]*payment-bot[^]*needs 1 of the role security and 1 of the role finance[^]*you can approve it/,
    );
    expect(await sarasPage.title()).toMatch(/^\(1\) Inbox/);
    await row.click();
    expect(new URL(sarasPage.url()).pathname).toBe(`/console/decisions/${execution.decisionId}`);
    const main = sarasPage.getByRole('main');
    await main.getByText('Payments of 10,000 or more need finance and security.').waitFor();
    await main.getByText('2 contradicting values').waitFor();
    await main.getByText('The request uses a value that is less certain than another one.').waitFor();
    await main.getByText('Can approve it: finn or sara (you).').waitFor();
    await main
      .getByText(/^It can be decided until .* left\)\. From its approval on, it may be started for 1 hour\.$/)
      .waitFor();
    expect(await main.innerText()).toMatch(/\/amount is at least 10000; here it is 18400/);
    expect(await main.innerText()).toMatch(/bot-may-pay 1.0 would allow it, but requiring approval takes precedence/);
    await sarasPage.getByLabel(/Comment/).fill('The account is that of the contract.');
    await main.getByRole('listitem').filter({ hasText: 'mail of 3 March' }).getByText('in this request').waitFor();
    await sarasPage.getByRole('button', { name: 'Approve' }).click();
    await main.getByText('Your review is recorded. The decision still needs 1 of the role finance.').waitFor();
    expect(await sarasPage.evaluate('document.activeElement.id')).toBe('main');
    await main.getByText('You have reviewed it. It waits for others.').waitFor();

    await finnsPage.goto(`${program.url}/console/decisions/${execution.decisionId}`);
    await signIn(finnsPage, finn.key);
    await finnsPage.getByText('The account is that of the contract.').waitFor();
    await finnsPage.getByRole('button', { name: 'Approve' }).click();
    await finnsPage.getByText('It was approved. The agent has not continued yet.').waitFor();
    await main.getByText('It was approved. The agent has not continued yet.').waitFor();

    const resumed = await send(program, 'POST', `/api/v1/executions/${execution.id}/resume`, { key: bot.key });
    expect([resumed.status, resumed.body.outcome]).toEqual([200, 'authorized']);
    await main.getByText('The agent continued with the approval and has not reported a result yet.').waitFor();
    const story = await main.getByRole('list').filter({ hasText: 'Continued with the approval' }).innerText();
    expect(story).toMatch(
      /sent for approval[^]*Approved by sara \(key \w{6}\)[^]*Gave the final approval by finn[^]*Continued[^]*by payment-bot/,
    );
    const result = { outcome: 'executed', result: { transfer: 'T-1' } };
    await send(program, 'POST', `/api/v1/executions/${execution.id}/result`, { key: bot.key, body: result });
    await main.getByText('It was carried out.').waitFor();
    await sarasPage.getByRole('link', { name: 'Activity' }).click();
    const reported = main.getByRole('listitem').filter({ hasText: 'Reported the result' });
    expect(await reported.innerText()).toContain('pay-invoice on supplier/Nordwind GmbH by payment-bot');
  });

  it.each([
    [
      'the keys of people',
      false,
      /Gave the final approval by sara \(key \w{6}\)[^]*Cleared to continue by sara \(key \w{6}\)/,
    ],
    [
      "the operator's key",
      true,
      /Gave the final approval by sara \(operator's key\)[^]*Cleared to continue by sara \(operator's key\)/,
    ],
  ])(
    'an approval is the doing of whose key gave it, not of the agent that asked: %s',
    async (whose, isOperator, storyPattern) => {
      const { program, finn, sara } = stage.company;
      const { id, decisionId } = await askToPay(stage.company, { invoice: whose });
      for (const person of [finn, sara]) {
        const key = isOperator ? program.key : person.key;
        const body = { approverId: person.id };
        await send(program, 'POST', `/api/v1/decisions/${decisionId}/approve`, { key, body });
      }
      const page = await stage.browser.open(`${program.url}/console/decisions/${decisionId}`);
      await signIn(page, sara.key);
      const story = page.getByRole('main').getByRole('list').filter({ hasText: 'Cleared to continue' });
      await story.waitFor();
      expect(await story.innerText()).toMatch(storyPattern);
      await send(program, 'POST', `/api/v1/executions/${id}/cancel`, { key: program.key });
      await page.getByText(/Request cancelled by the operator\s/).waitFor();
    },
  );

  it('without permission to follow the trail, the page checks every ten seconds, and reloads the list if something was written', async () => {
    const { program, finn } = stage.company;
    const page = await stage.browser.open(`${program.url}/console`);
    await page.clock.install();
    await page.reload();
    const asks: string[] = [];
    page.on('request', (request) => asks.push(new URL(request.url()).pathname));
    const lists = (): number => asks.filter((path) => path.endsWith('/decisions')).length;
    await signIn(page, finn.key);
    await page.getByText('Updates every 10 s').waitFor();
    // What waits for finn, and everything that waits: each once, as the page opens.
    while (lists() < 2) await page.clock.runFor(100);
    await Promise.all([page.waitForResponse(/\/stats$/), page.clock.runFor(10_000)]);
    await page.clock.runFor(1_000);
    expect(lists()).toBe(2);
    const { decisionId } = await askToPay(stage.company, { invoice: 'seen at the next look' });
    await Promise.all([page.locator(`a[href$="${decisionId}"]`).waitFor(), page.clock.runFor(10_000)]);
  });

  it('a hidden page closes its event stream, and reopens it when it is shown again', async () => {
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

  it('the key is in no URL, and in no storage unless the user asks for that', async () => {
    const { program, finn } = stage.company;
    const page = await stage.browser.open(`${program.url}/console`);
    await signIn(page, finn.key);
    const browserState = (): Promise<string> =>
      page.evaluate('JSON.stringify([location.href, { ...sessionStorage }, { ...localStorage }, document.cookie])');
    expect(await browserState()).not.toContain(finn.key);
    await page.reload();
    await page.getByLabel('Stay signed in').check();
    await signIn(page, finn.key);
    await page.reload();
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Your key').waitFor();
    expect(await browserState()).not.toContain(finn.key);
  });

  it('every entity that a request names is shown, wherever it is named, and looked up once', async () => {
    const { program, bot, finn } = stage.company;
    const entities = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        createEntity(program, { type: 'account', name: `account ${index}`, properties: {} }),
      ),
    );
    const [first, ...others] = entities.map(({ id }) => id);
    const invented = `ent_${'0'.repeat(26)}`;
    const { status, body } = await send(program, 'POST', '/api/v1/agents/payment-bot/execute', {
      key: bot.key,
      body: {
        action: 'pay-invoice',
        resourceType: 'supplier',
        // Longer than the name of any entity may be.
        resourceId: `https://shop.example/${'x'.repeat(300)}`,
        parameters: { amount: 20_000, note: `Pay to:\n${String(first)}`, others: [invented, ...others] },
      },
    });
    expect(status).toBe(202);
    const page = await stage.browser.open(`${program.url}/console/decisions/${String(body.decisionId)}`, {
      expected: [/status of 404/],
    });
    const requestedPaths: string[] = [];
    page.on('request', (request) => requestedPaths.push(new URL(request.url()).pathname));
    await signIn(page, finn.key);
    const approve = page.getByRole('button', { name: 'Approve' });
    await page.getByText(/on screen: still hidden: 13 more entities named in the request/).waitFor();
    expect(await approve.isDisabled()).toBe(true);
    while ((await page.getByText(/still hidden: \d+ more/).count()) > 0) {
      await page.getByRole('button', { name: /^Look up/ }).click();
    }
    const target = page.getByRole('region', { name: 'What is known about the target' });
    await target.getByText(`${invented} is named in the request and not registered.`).waitFor();
    for (const { id, name } of entities)
      await target.getByRole('heading', { name: `${name} account ${id}`, exact: true }).waitFor();
    await page.locator('button:enabled', { hasText: 'Approve' }).waitFor();
    const lookUps = requestedPaths.filter((path) => /\/entities\/ent_\w+$/.test(path));
    expect(lookUps.length).toBe(new Set(lookUps).size);
    await addClaim(program, String(first), { predicate: 'iban', value: 'claimed meanwhile' });
    await approve.click();
    await page.getByRole('alert').filter({ hasText: 'Nothing was approved' }).waitFor();
    await target.getByText('claimed meanwhile').waitFor();
    await approve.click();
    await page.getByText('You have reviewed it. It waits for others.').waitFor();
  });

  it('a person who decides for others has to choose another reviewer once the chosen one has reviewed', async () => {
    const { program, finn } = stage.company;
    const { decisionId } = await askToPay(stage.company, { invoice: 'for others' });
    const page = await stage.browser.open(`${program.url}/console/decisions/${decisionId}`);
    await signIn(page, program.key);
    const choice = page.getByLabel('Decide on behalf of');
    await choice.selectOption('finn');
    await page.getByRole('button', { name: 'Reject' }).click({ trial: true });
    await send(program, 'POST', `/api/v1/decisions/${decisionId}/approve`, { key: finn.key, body: {} });
    await page.getByText(/finn \(has already reviewed it\)/).waitFor();
    expect(await choice.inputValue()).toBe('');
    expect(await page.getByRole('button', { name: 'Reject' }).isDisabled()).toBe(true);
  });

  it('what cannot be loaded while it is checked is loaded again at once', async () => {
    const { program, finn } = stage.company;
    const { decisionId } = await askToPay(stage.company, { invoice: 'checked in vain' });
    const expected = [/status of 400/];
    const page = await stage.browser.open(`${program.url}/console/decisions/${decisionId}`, { expected });
    await signIn(page, finn.key);
    const approve = page.locator('button:enabled', { hasText: 'Approve' });
    for (const part of ['**/policies/evaluate', '**/executions?*', '**/claims?*']) {
      await approve.waitFor();
      const refusal = { status: 400, json: { error: { code: 'X', message: `Not now: ${part}` } } };
      await page.route(part, (route) => route.fulfill(refusal), { times: 1 });
      await approve.click();
      await page.getByRole('region', { name: 'Your decision' }).getByText(`Not now: ${part}`).waitFor();
    }
    await approve.click();
    await page.getByText('You have reviewed it. It waits for others.').waitFor();
  });

  it('a session survives a busy service, and a late refusal of the session before it', async () => {
    const { program, finn, sara } = stage.company;
    const expected = [/status of (?:401|429|503)/, /ERR_FAILED/];
    const page = await stage.browser.open(`${program.url}/console/inbox`, { expected });
    const held = new Promise<Route>((resolve) => void page.route('**/api/v1/agents?*', resolve, { times: 1 }));
    await signIn(page, finn.key);
    const late = await held;
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Stay signed in').check();
    await signIn(page, sara.key);
    const error = { code: 'UNAUTHORIZED', message: 'refused' };
    await Promise.all([
      page.waitForResponse((response) => response.status() === 401),
      late.fulfill({ status: 401, json: { error } }),
    ]);
    await page.getByText('Live', { exact: true }).waitFor();

    const busy = { status: 503, headers: { 'Retry-After': '60' }, json: { error: { ...error, code: 'BUSY' } } };
    await page.route('**/api/v1/me', (route) => route.fulfill(busy));
    await page.reload();
    await page.getByText('You are still signed in.').waitFor();
    await page.unroute('**/api/v1/me');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  });

  it('a session ends when its agent is suspended, and what failed to load while the service was down is loaded when it is back', async () => {
    const { program } = stage.company;
    const expected = [/status of (?:400|403|429)/, /ERR_FAILED/];
    const { id } = await createAgent(program, { name: 'eva', kind: 'human', roles: ['finance'] });
    const { secret } = await issueKey(program, { name: 'eva', scopes: ['review', 'read'], agentId: id });
    const { decisionId } = await askToPay(stage.company, { invoice: 'while it was away' });
    const page = await stage.browser.open(`${program.url}/console/decisions/${decisionId}`, { expected });
    await page.clock.install();
    await page.reload();
    const look = (): Promise<unknown> => Promise.all([page.waitForRequest(/\/stats$/), page.clock.runFor(10_000)]);
    const evaluate = '**/api/v1/policies/evaluate';
    const stats = '**/api/v1/stats';
    const slow = {
      status: 429,
      headers: { 'Retry-After': '60' },
      json: { error: { code: 'RATE_LIMITED', message: '' } },
    };
    await page.route(evaluate, (route) => route.fulfill({ status: 400, json: {} }));
    // A longer timeout than elsewhere: everything that a request names is shown, however much that is.
    await page.route('**/claims?*', (route) => route.fulfill(slow), { times: 1 });
    await signIn(page, secret);
    await page.getByText('something could not be loaded').waitFor();
    await page.getByText('still hidden: 1 entity, still loading').waitFor();
    await page.unroute(evaluate);
    await page.route(stats, (route) => route.fulfill(slow));
    await look();
    await page.getByText('Updates every 10 s').waitFor();
    await page.unroute(stats);
    await look();
    await page.clock.runFor(60_000);
    await page.getByText('You can approve once everything is on screen').waitFor({ state: 'detached' });

    await send(program, 'POST', `/api/v1/agents/${id}/suspend`, { key: program.key, body: {} });
    // Time also passes by itself: the page may have checked, and ended the session, before the clock is moved.
    await Promise.all([page.getByText(/or its agent was suspended/).waitFor(), page.clock.runFor(10_000)]);
  });
});
