import { addClaim, createEntity, createPolicy } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, type Page, signIn, TestBrowser } from '../browser';
import { askToPay, companyStage } from '../company';
import { overflow, violations, withAxe } from '../look';

const SCREENS = [
  'Overview',
  'Inbox',
  'Activity',
  'Explain',
  'Policies',
  'Grants',
  'Agents and keys',
  'Access',
  'Entities',
  'Webhooks',
  'Proof',
  'Health',
];
const LOOKS = [
  { width: 1280, dark: false },
  { width: 390, dark: true },
  { width: 1280, dark: true, textSize: 32 },
];
const WITH_RECORDS = ['Policies', 'Agents and keys', 'Entities', 'Webhooks', 'Inbox'];

/** Records whether the field for the key has the focus at the moment when it appears. */
const WATCH_FIELD = `new MutationObserver(() => {
  const field = document.getElementById('key');
  if (field !== null) window.hadFocus ??= document.activeElement === field;
}).observe(document, { childList: true, subtree: true });`;

async function focusedText(page: Page): Promise<string> {
  return page.evaluate('document.activeElement.innerText');
}

/** The badges that reach into the text next to them. */
async function overlaps(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('.row .badge')].filter((badge) => {
    const [here, next] = [badge.getBoundingClientRect(), badge.nextElementSibling.getBoundingClientRect()];
    return here.right > next.left && here.bottom > next.top;
  }).map(({ innerText }) => innerText)`);
}

describeInBrowser("The console's screens", () => {
  const stage = companyStage();
  let decisionId: string;

  beforeAll(async () => {
    const { company } = stage;
    ({ decisionId } = await askToPay(company));
    const body = { url: 'https://hooks.example.com/governance', actions: ['decision.*'] };
    await send(company.program, 'POST', '/api/v1/webhooks', { key: company.program.key, body });
  });

  it.each(LOOKS)('are accessible to everybody and fit their window: %j', async ({ textSize, ...look }) => {
    const { program } = stage.company;
    const browser = textSize === undefined ? stage.browser : await TestBrowser.launch(textSize);
    const page = await browser.open(`${program.url}/console`, look);
    await withAxe(page);
    expect(await violations(page)).toEqual([]);
    await page.getByText('can use its API_KEY, or the key that it printed').waitFor();
    await signIn(page, program.key);
    await page.getByTitle(/^Scopes: /).waitFor();
    const navigation = page.getByRole('navigation', { name: 'Screens' });
    for (const name of SCREENS) {
      await navigation.getByRole('link', { name }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      expect([name, await violations(page), await overflow(page)]).toEqual([name, [], 0]);
      expect([name, await overlaps(page)]).toEqual([name, []]);
    }
    for (const path of WITH_RECORDS) {
      await navigation.getByRole('link', { name: path }).click();
      await page.getByRole('heading', { level: 1, name: path }).waitFor();
      await page.getByRole('main').getByRole('listitem').getByRole('link').first().click();
      await page.getByRole('link', { name: /^←/ }).waitFor();
      expect([path, await violations(page), await overflow(page)]).toEqual([path, [], 0]);
    }
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    if (browser !== stage.browser) {
      expect(browser.takeFaults()).toEqual([]);
      await browser.close();
    }
  });

  it('can be used with the keyboard alone', async () => {
    const { program, finn } = stage.company;
    const page = await stage.browser.open(`${program.url}/console`);
    await page.addInitScript({ content: WATCH_FIELD });
    await page.reload();
    await page.locator('#key').waitFor();
    // Nothing that is typed as soon as the field appears is lost.
    expect(await page.evaluate('window.hadFocus')).toBe(true);
    await page.keyboard.type(finn.key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await page.getByRole('main').getByRole('link').first().waitFor();
    const focused = (): Promise<string> => page.evaluate('document.activeElement.getAttribute("href") ?? ""');
    for (let presses = 0; !(await focused()).includes('/decisions/'); presses += 1) {
      expect(presses).toBeLessThan(20);
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
  });

  it('say which scope would show what a key may not see', async () => {
    const { program, finn } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/proof`);
    await signIn(page, finn.key);
    const main = page.getByRole('main');
    await main.getByText(/This screen needs audit/).waitFor();
    expect(await page.getByRole('navigation').innerText()).toMatch(/Proof\s+needs audit/);
  });

  it('fold large arguments, which must be opened before anybody can approve', async () => {
    const lines = Array.from({ length: 80 }, (_, line) => ({ line, amount: line * 7 }));
    const execution = await askToPay(stage.company, { lines });
    const { program, finn } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/decisions/${execution.decisionId}`);
    await signIn(page, finn.key);
    const approve = page.getByRole('button', { name: 'Approve' });
    await page.getByText(/once everything is on screen: still hidden: Arguments/).waitFor();
    expect(await approve.isDisabled()).toBe(true);
    await page.getByRole('button', { name: /Show all of it/ }).click();
    expect(await page.getByRole('region', { name: 'Arguments' }).innerText()).toContain('"amount": 553');
    expect(await approve.isEnabled()).toBe(true);
  });

  it('show every claim about the target before anybody can approve', async () => {
    const { program, finn } = stage.company;
    const { id } = await createEntity(program, { type: 'supplier', name: 'Wordy GmbH', properties: {} });
    for (let first = 0; first < 502; first += 100) {
      const claims = Array.from({ length: Math.min(100, 502 - first) }, (_, index) =>
        addClaim(program, id, { predicate: 'iban', value: `account ${first + index}` }),
      );
      await Promise.all(claims);
    }
    const execution = await askToPay(stage.company, { supplier: id });
    const page = await stage.browser.open(`${program.url}/console/decisions/${execution.decisionId}`);
    await signIn(page, finn.key);
    const approve = page.getByRole('button', { name: 'Approve' });
    await page.getByText(/on screen: still hidden: 2 claims about Wordy GmbH/).waitFor();
    await page.getByText(/^500 of 502 claims are shown\./).waitFor();
    expect(await approve.isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Show more claims: 2 left' }).click();
    await page.getByText('502 contradicting values').waitFor();
    expect(await approve.isEnabled()).toBe(true);
  });

  it('show a name as it is, whatever it contains', async () => {
    const { program, finn } = stage.company;
    // The second one would be shown backwards by a page that honours it.
    const [markup, reversed] = ['<img src=x onerror=alert(1)>', 'paid \u202e001\u202c \u200b\ufe00\u2800\u034f'];
    const { decisionId: paymentDecisionId } = await askToPay(stage.company, { note: reversed, markup });
    const { body } = await send(program, 'POST', '/api/v1/decisions', {
      key: program.key,
      body: {
        type: 'name',
        title: `${markup} ${reversed}`,
        proposedBy: 'payment-bot',
        riskLevel: 'low',
        description: 'x'.repeat(2000),
        approvers: [{ subjects: ['agent:finn', 'role:\u202eecnanif', 'role security'] }],
      },
    });
    const page = await stage.browser.open(`${program.url}/console/decisions/${String(body.id)}`, { width: 390 });
    await signIn(page, finn.key);
    const escapedText = 'paid \\u202e001\\u202c \\u200b\\ufe00\\u2800\\u034f';
    await page.getByRole('heading', { level: 1, name: `${markup} ${escapedText}` }).waitFor();
    await page.getByText('needs 1 of the agent finn, the role \\u202eecnanif or \u201crole security\u201d').waitFor();
    await page.getByText('As payment-bot wrote it. Nobody has checked it.').waitFor();
    await page.getByText('The service itself carries nothing out.').waitFor();
    expect(await overflow(page)).toBe(0);
    await page.goto(`${program.url}/console/decisions/${paymentDecisionId}`);
    await signIn(page, finn.key);
    const argumentsText = await page.getByRole('region', { name: 'Arguments' }).innerText();
    expect(argumentsText).toContain(JSON.stringify(markup));
    expect(argumentsText).toContain(escapedText);
  });

  it('say that the service cannot be reached, and continue once it can', async () => {
    const { program, finn } = stage.company;
    const page = await stage.browser.open(`${program.url}/console`, { expected: [/ERR_FAILED/] });
    await signIn(page, finn.key);
    await page.getByText('Updates every 10 s').waitFor();
    await page.route('**/stats', (route) => route.abort());
    await page.getByText('Service not reachable').waitFor();
    await page.unroute('**/stats');
    await page.getByText('Updates every 10 s').waitFor();
  });

  it('show the plan of a policy before it can be activated', async () => {
    const { program } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/policies`);
    await signIn(page, program.key);
    await page.getByRole('link', { name: /bot-may-pay/ }).click();
    const write = page.getByRole('button', { name: 'Write a new version' });
    await write.click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await focusedText(page)).toBe('Write a new version');
    await write.click();
    const draft = page.getByLabel('The policy', { exact: true }).last();
    const text = await draft.inputValue();
    await draft.fill(text.replace('"allow"', '"deny"'));
    const plan = page.getByRole('button', { name: 'Show what it would change' });
    await plan.click();
    await page.getByText(/^\d+ requests? of \d+ requests? on record would get a different answer:$/).waitFor();
    await page.getByRole('link', { name: 'payment-bot: pay-invoice on supplier/Nordwind GmbH' }).first().waitFor();
    const conditions = [{ parameter: '/amount', op: 'gt', value: 5 }];
    await draft.fill(JSON.stringify({ ...(JSON.parse(text) as object), effect: 'deny', conditions }));
    await plan.click();
    await page
      .getByText(/, where the conditions of bot-may-pay let it match/)
      .first()
      .waitFor();
    await draft.fill(text.replace('pay-invoice', 'pay-salary'));
    const activate = page.getByRole('button', { name: 'Activate it' });
    expect(await activate.count()).toBe(0);
    await plan.click();
    await page.getByText(/payment-bot: pay-salary on anything/).waitFor();
    await page.getByText(/^Each of \d+ requests? on record would get the same answer.$/).waitFor();
    await activate.click();
    await page.getByRole('listitem').filter({ hasText: '1.1' }).getByText('in force', { exact: true }).waitFor();
  });

  it('keep a policy in the making, whatever is wrong with it or comes before it', async () => {
    const { program } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/policies`, { expected: [/status of 412/] });
    await signIn(page, program.key);
    await page.getByRole('button', { name: 'New policy' }).click();
    const draft = page.getByLabel('The policy', { exact: true });
    const text = (await draft.inputValue()).replace('a-new-policy', 'in-the-making');
    await draft.fill(`${text},`);
    const plan = page.getByRole('button', { name: 'Show what it would change' });
    await plan.click();
    await page.getByRole('alert').filter({ hasText: 'This is not JSON' }).getByText('Correct it.').waitFor();
    await draft.fill(text);
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/policies/plan', async (route) => {
      await released;
      await route.continue();
    });
    await plan.click();
    // What is typed meanwhile would not be what was planned.
    await page.getByRole('button', { name: 'Calculating …' }).waitFor();
    await draft.press('End');
    await page.keyboard.type('// unplanned');
    release();
    const activate = page.getByRole('button', { name: 'Activate it' });
    await activate.waitFor();
    expect(await draft.inputValue()).toBe(text);
    await page.unroute('**/policies/plan');
    await createPolicy(program, { name: 'comes-before-it', actions: ['another'] });
    await activate.click();
    await page.getByText('Something has changed since this page showed it.').waitFor();
    expect(await draft.inputValue()).toBe(text);
    await plan.click();
    await activate.click();
    await page.getByRole('link', { name: /^require approval\s+in-the-making/ }).waitFor();
    expect(await focusedText(page)).toBe('New policy');
  });

  it('show no rate across a restart of the service, which counts from zero again', async () => {
    const { program, finn } = stage.company;
    const page = await stage.browser.open(`${program.url}/console`);
    await page.clock.install();
    await page.reload();
    let requests = 500;
    await page.route('**/metrics', (route) =>
      route.fulfill({ body: `http_request_duration_seconds_count ${requests}\n` }),
    );
    await signIn(page, finn.key);
    await page.getByRole('link', { name: 'Health' }).click();
    const rate = page.getByText('Requests a second').locator('..');
    const look = (): Promise<unknown> => Promise.all([page.waitForResponse('**/metrics'), page.clock.runFor(11_000)]);
    await rate.getByText('measuring …').waitFor();
    // From here on only `look` moves the time, a little further than to the next check.
    await page.clock.pauseAt(Number(await page.evaluate('Date.now()')) + 5_000);
    requests = 600;
    await look();
    await rate.getByText(/^\d+\.\d$/).waitFor();
    requests = 7;
    await look();
    await rate.getByText('measuring …').waitFor();
  });

  it('explain the answer to a request', async () => {
    const { program, sara } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/explain`);
    await signIn(page, sara.key);
    await page.getByLabel('Agent').fill('payment-bot');
    await page.getByLabel('Action').fill('read-invoice');
    await page.getByLabel('Resource type').fill('invoice');
    await page.getByLabel('Resource', { exact: true }).fill('2026-0417');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('No policy in force allows it, and what no policy allows is denied.').waitFor();
    await page.locator('#known-action option', { hasText: 'pay-invoice' }).waitFor({ state: 'attached' });
    await page.getByLabel('Action').fill('pay-invoice');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page
      .getByText('It needs 1 approval from the role security and 1 approval from the role finance, within 4 hours.')
      .waitFor();
  });

  it('show no answer to another question than the one in the form', async () => {
    const { program, sara } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/explain`);
    await signIn(page, sara.key);
    await page.getByLabel('Agent').fill('payment-bot');
    await page.getByLabel('Action').fill('pay-invoice');
    await page.getByLabel('Resource type').fill('supplier');
    await page.getByLabel('Resource', { exact: true }).fill('Nordwind GmbH');
    const [ask, answer] = [
      page.getByRole('button', { name: 'Explain' }),
      page.getByRole('region', { name: 'The answer' }),
    ];
    await ask.click();
    await answer.getByText('It would wait for approval.').waitFor();
    await page.getByLabel('Action').fill('read-invoice');
    await answer.waitFor({ state: 'detached' });
    // The answer to the first question is on its way when that to the second one has arrived.
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const evaluate = '**/policies/evaluate';
    const first = new Promise<void>((resolve) => {
      void page.route(
        evaluate,
        async (route) => {
          resolve();
          await released;
          await route.continue().catch(() => undefined);
        },
        { times: 1 },
      );
    });
    await page.getByLabel('Action').fill('pay-invoice');
    await ask.click();
    await first;
    await page.getByLabel('Action').fill('read-invoice');
    await ask.click();
    await answer.getByText('No policy in force allows it').waitFor();
    release();
    await page.evaluate("fetch('/api/v1/health')");
    await answer.getByText('No policy in force allows it').waitFor();
    expect(await page.getByText('It would wait for approval.').count()).toBe(0);
  });

  it('issue a key, show its secret once, and revoke it', async () => {
    const { program } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/agents`);
    await signIn(page, program.key);
    const open = page.getByRole('button', { name: 'Issue a key' });
    await open.click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await focusedText(page)).toBe('Issue a key');
    await open.click();
    await page.getByLabel('Name').fill('for a visitor');
    await page.getByRole('button', { name: 'Issue the key' }).click();
    const secret = await page.getByRole('status').getByText(/^agk_/).innerText();
    expect(secret).toMatch(/^agk_[0-9A-Z]{26}_[\w-]{43}$/);
    await page.getByRole('button', { name: 'I have saved it' }).click();
    expect(await page.content()).not.toContain(secret);
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    await page.getByRole('button', { name: 'Revoke the key for a visitor' }).press('Enter');
    expect(await focusedText(page)).toBe('Keep');
    await page.keyboard.press('Enter');
    expect(await focusedText(page)).toBe('Revoke');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Revoke permanently' }).click();
    await page.getByRole('listitem').filter({ hasText: 'for a visitor' }).getByText('revoked').waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
  });

  it('open the decision of a link after signing in', async () => {
    const { program, finn } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/decisions/${decisionId}`);
    await signIn(page, finn.key);
    await page.getByRole('heading', { level: 1, name: /payment-bot wants to pay-invoice/ }).waitFor();
  });
});
