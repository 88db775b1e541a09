import { createRequire } from 'node:module';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { addClaim, createEntity } from '../support/application/factories';
import { send } from '../support/application/send';
import { CONSOLE, describeInBrowser, type Page, signIn } from './browser';
import { askToPay, companyStage } from './company';

const AXE = readFileSync(createRequire(join(CONSOLE, 'package.json')).resolve('axe-core'), 'utf8');
const SCREENS = ['Inbox', 'Activity', 'Explain', 'Policies', 'Agents and keys', 'Proof', 'Health'];
const LOOKS = [
  { width: 1280, dark: false },
  { width: 390, dark: true },
];

/** Notes whether the field for the key has the focus in the moment in which it appears. */
const WATCH_FIELD = `new MutationObserver(() => {
  const field = document.getElementById('key');
  if (field !== null) window.hadFocus ??= document.activeElement === field;
}).observe(document, { childList: true, subtree: true });`;

/** What axe finds against WCAG 2.2 AA and good practice, a line each. */
async function violations(page: Page): Promise<string[]> {
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  return page.evaluate(`(async () => {
    const { violations } = await window.axe.run(document);
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200)));
  })()`);
}

/** Axe is put into the page by the test, past the page's own policy. */
async function withAxe(page: Page): Promise<void> {
  await page.evaluate(AXE);
}

async function overflow(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

describeInBrowser("The console's screens", () => {
  const stage = companyStage();
  let decisionId: string;

  beforeAll(async () => {
    ({ decisionId } = await askToPay(stage.company));
  });

  it.each(LOOKS)('are accessible to everybody and fit their window: %j', async (look) => {
    const { program } = stage.company;
    const page = await stage.browser.open(`${program.url}/console`, look);
    await withAxe(page);
    expect(await violations(page)).toEqual([]);
    await signIn(page, program.key);
    const navigation = page.getByRole('navigation', { name: 'Screens' });
    for (const name of SCREENS) {
      await navigation.getByRole('link', { name }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      expect([name, await violations(page), await overflow(page)]).toEqual([name, [], 0]);
    }
    for (const path of ['Policies', 'Agents and keys', 'Inbox']) {
      await navigation.getByRole('link', { name: path }).click();
      await page.getByRole('heading', { level: 1, name: path }).waitFor();
      await page.getByRole('main').getByRole('listitem').getByRole('link').first().click();
      await page.getByRole('link', { name: /^←/ }).waitFor();
      expect([path, await violations(page), await overflow(page)]).toEqual([path, [], 0]);
    }
    await page.getByRole('button', { name: 'Approve' }).waitFor();
  });

  it('are used with the keyboard alone', async () => {
    const { program, finn } = stage.company;
    const page = await stage.browser.open(`${program.url}/console`);
    await page.addInitScript({ content: WATCH_FIELD });
    await page.reload();
    await page.locator('#key').waitFor();
    // What is typed as soon as the field is there is not lost.
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

  it('say what a key may not see', async () => {
    const { program, finn } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/proof`);
    await signIn(page, finn.key);
    const main = page.getByRole('main');
    await main.getByText(/This screen needs audit/).waitFor();
    expect(await page.getByRole('navigation').innerText()).toMatch(/Proof\s+needs audit/);
  });

  it('fold large arguments, which are opened before anybody approves', async () => {
    const lines = Array.from({ length: 80 }, (_, line) => ({ line, amount: line * 7 }));
    const asked = await askToPay(stage.company, { lines });
    const { program, finn } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/decisions/${asked.decisionId}`);
    await signIn(page, finn.key);
    const approve = page.getByRole('button', { name: 'Approve' });
    await page.getByText(/once everything is on screen: still hidden: Arguments/).waitFor();
    expect(await approve.isDisabled()).toBe(true);
    await page.getByRole('button', { name: /Show all of it/ }).click();
    expect(await page.getByRole('region', { name: 'Arguments' }).innerText()).toContain('"amount": 553');
    expect(await approve.isEnabled()).toBe(true);
  });

  it('show every claim about the target before anybody approves', async () => {
    const { program, finn } = stage.company;
    const { id } = await createEntity(program, { type: 'supplier', name: 'Wordy GmbH', properties: {} });
    for (let first = 0; first < 502; first += 100) {
      const claims = Array.from({ length: Math.min(100, 502 - first) }, (_, index) =>
        addClaim(program, id, { predicate: 'iban', value: `account ${first + index}` }),
      );
      await Promise.all(claims);
    }
    const asked = await askToPay(stage.company, { supplier: id });
    const page = await stage.browser.open(`${program.url}/console/decisions/${asked.decisionId}`);
    await signIn(page, finn.key);
    const approve = page.getByRole('button', { name: 'Approve' });
    await page.getByText(/on screen: still hidden: 2 claims about Wordy GmbH/).waitFor();
    await page.getByText(/^500 of 502 claims are shown\./).waitFor();
    expect(await approve.isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Show more claims: 2 left' }).click();
    await page.getByText('502 contradicting values').waitFor();
    expect(await approve.isEnabled()).toBe(true);
  });

  it('show a name as it is, whatever it holds', async () => {
    const { program, finn } = stage.company;
    // The second one reads backwards where a page obeys it.
    const [markup, reversed] = ['<img src=x onerror=alert(1)>', 'paid \u202e001\u202c \u200b\ufe00\u2800\u034f'];
    const { decisionId: named } = await askToPay(stage.company, { note: reversed, markup });
    const { body } = await send(program, 'POST', '/api/v1/decisions', {
      key: program.key,
      body: {
        type: 'name',
        title: `${markup} ${reversed}`,
        proposedBy: 'payment-bot',
        riskLevel: 'low',
        description: 'x'.repeat(2000),
        approvers: [{ subjects: ['agent:finn', 'role:\u202eecnanif'] }],
      },
    });
    const page = await stage.browser.open(`${program.url}/console/decisions/${String(body.id)}`, { width: 390 });
    await signIn(page, finn.key);
    const shown = 'paid \\u202e001\\u202c \\u200b\\ufe00\\u2800\\u034f';
    await page.getByRole('heading', { level: 1, name: `${markup} ${shown}` }).waitFor();
    await page.getByText('needs 1 of finn or \\u202eecnanif').waitFor();
    expect(await overflow(page)).toBe(0);
    await page.goto(`${program.url}/console/decisions/${named}`);
    await signIn(page, finn.key);
    const given = await page.getByRole('region', { name: 'Arguments' }).innerText();
    expect(given).toContain(JSON.stringify(markup));
    expect(given).toContain(shown);
  });

  it('say that the service is not reachable, and go on when it is', async () => {
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
    await page.getByRole('button', { name: 'Write a new version' }).click();
    const draft = page.getByLabel('The policy', { exact: true }).last();
    const text = await draft.inputValue();
    await draft.fill(text.replace('"allow"', '"deny"'));
    const plan = page.getByRole('button', { name: 'Show what it would change' });
    await plan.click();
    await page.getByText(/^\d+ requests? of \d+ requests? on record would get a different answer:$/).waitFor();
    await page.getByRole('link', { name: 'payment-bot: pay-invoice on supplier/Nordwind GmbH' }).first().waitFor();
    await draft.fill(text.replace('pay-invoice', 'pay-salary'));
    const activate = page.getByRole('button', { name: 'Activate it' });
    expect(await activate.count()).toBe(0);
    await plan.click();
    await page.getByText(/payment-bot: pay-salary on anything/).waitFor();
    await page.getByText(/^Each of \d+ requests? on record would get the same answer.$/).waitFor();
    await activate.click();
    await page.getByRole('listitem').filter({ hasText: '1.1' }).getByText('in force', { exact: true }).waitFor();
  });

  it('explain an answer', async () => {
    const { program, sara } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/explain`);
    await signIn(page, sara.key);
    await page.getByLabel('Agent').fill('payment-bot');
    await page.getByLabel('Action').fill('read-invoice');
    await page.getByLabel('Resource type').fill('invoice');
    await page.getByLabel('Resource', { exact: true }).fill('2026-0417');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('No policy in force allows it, and what no policy allows is denied.').waitFor();
  });

  it('issue a key, show its secret once, and revoke it', async () => {
    const { program } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/agents`);
    await signIn(page, program.key);
    await page.getByRole('button', { name: 'Issue a key' }).click();
    await page.getByLabel('Name').fill('for a visitor');
    await page.getByRole('button', { name: 'Issue the key' }).click();
    const secret = await page.getByRole('status').getByText(/^agk_/).innerText();
    expect(secret).toMatch(/^agk_[0-9A-Z]{26}_[\w-]{43}$/);
    await page.getByRole('button', { name: 'I have saved it' }).click();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole('button', { name: 'Revoke the key for a visitor' }).click();
    await page.getByRole('button', { name: 'Revoke permanently' }).click();
    await page.getByRole('listitem').filter({ hasText: 'for a visitor' }).getByText('revoked').waitFor();
  });

  it('remember the decision that a link leads to', async () => {
    const { program, finn } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/decisions/${decisionId}`);
    await signIn(page, finn.key);
    await page.getByRole('heading', { level: 1, name: /payment-bot wants to pay-invoice/ }).waitFor();
  });
});
