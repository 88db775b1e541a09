import { join } from 'node:path';
import { createAgent, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { ROOT } from '../../support/documents/markdown';
import { startProgram } from '../../support/processes/started-program';
import { describeInBrowser, type Page, signIn } from '../browser';
import { askToPay, companyStage } from '../company';

const HOUR = 3_600_000;

describeInBrowser('A session in the console', () => {
  const stage = companyStage();
  let decisionId: string;

  beforeAll(async () => {
    ({ decisionId } = await askToPay(stage.company));
  });

  async function open(path = '', expected: readonly RegExp[] = []): Promise<Page> {
    return stage.browser.open(`${stage.company.program.url}/console${path}`, { expected });
  }

  it('leaves nothing of itself in the tab when it ends', async () => {
    const page = await open();
    await signIn(page, stage.company.finn.key);
    const iconCount = (): Promise<string> => page.evaluate("document.querySelector('link[rel=icon]').dataset.count");
    await page.getByRole('link', { name: /pay-invoice/ }).waitFor();
    expect([await iconCount(), await page.title()]).toEqual(['1', expect.stringContaining('(1)')]);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Your key').waitFor();
    expect([await iconCount(), await page.title()]).toEqual(['0', 'Sign in · Governance console']);
  });

  it('does not begin with what cannot be a key, and says so', async () => {
    const page = await open();
    await page.getByLabel('Your key').fill('agk_\u00e4\u201c');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This is not a key: it has characters that no key has.').waitFor();
    await page.getByText('Copy only the key itself.').waitFor();
  });

  it('does not begin with an answer of an issuer that the service does not reach, and says so', async () => {
    const page = await open('/?code=a&state=b');
    await page.getByRole('alert').filter({ hasText: 'The service cannot reach the issuer at the moment.' }).waitFor();
    expect(page.url()).not.toContain('?');
  });

  it('does without storage where the browser offers none', async () => {
    const page = await open();
    await page.addInitScript({
      content: `Object.defineProperty(window, 'sessionStorage', {
        get: () => { throw new DOMException('denied', 'SecurityError'); },
      });`,
    });
    await page.reload();
    await page.getByLabel('Stay signed in').check();
    await page.getByLabel('Your key').fill(stage.company.finn.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Sign in without staying signed in.').waitFor();
    await page.getByLabel('Stay signed in').uncheck();
    await signIn(page, stage.company.finn.key);
    await page.getByRole('link', { name: /pay-invoice/ }).waitFor();
  });

  it.each([-5, 5])(
    'counts time as the service does, whose clock is %s hours from that of the reader',
    async (hours) => {
      const page = await open();
      await page.clock.setSystemTime(Date.now() - hours * HOUR);
      await page.reload();
      await signIn(page, stage.company.finn.key);
      const row = page.getByRole('link', { name: /pay-invoice/ });
      await row.waitFor();
      expect(await row.innerText()).toMatch(
        /requested by payment-bot (?:just now|\d+ (?:s|min) ago)[^]*3 h \d+ min left/,
      );
      const { program } = stage.company;
      const { id } = await createAgent(program, { name: `watched ${hours}` });
      const body = { observeUntil: new Date(Date.now() + HOUR).toISOString() };
      await send(program, 'PATCH', `/api/v1/agents/${id}`, { key: program.key, body });
      await page.getByRole('link', { name: 'Agents and keys' }).click();
      await page.getByRole('link', { name: new RegExp(`watched ${hours}.*observed`, 's') }).waitFor();
    },
  );

  it('shows the names of things however long the browser takes to paint', async () => {
    const { program, bot, finn, supplier } = stage.company;
    const body = { action: 'pay-invoice', resourceType: 'supplier', resourceId: `late/${supplier.id}` };
    const request = { key: bot.key, body: { ...body, parameters: { amount: 20_000 } } };
    await send(program, 'POST', '/api/v1/agents/payment-bot/execute', request);
    const page = await open();
    // What waits for the next frame waits for longer than an answer takes.
    await page.addInitScript({
      content: `const later = window.setTimeout;
      window.requestAnimationFrame = (callback) => later(() => callback(performance.now()), 3_000);
      window.setTimeout = (callback, delay, ...given) => later(callback, delay > 20 && delay < 50 ? 3_000 : delay, ...given);`,
    });
    await page.reload();
    await signIn(page, finn.key);
    await page.getByRole('link', { name: 'pay-invoice on supplier/late/Nordwind GmbH' }).waitFor();
  });

  it.each(['/constructor', '/decisions', '/executions/', '/proof-of-it'])('knows no page %s', async (path) => {
    const page = await open(path);
    await signIn(page, stage.company.finn.key);
    await page.getByText('This page does not exist.').waitFor();
  });

  it('ends while somebody approves, when the key is revoked; nothing is recorded', async () => {
    const { program, finn } = stage.company;
    const { id, secret } = await issueKey(program, { name: 'soon', scopes: ['review', 'read'], agentId: finn.id });
    const page = await open(`/decisions/${decisionId}`, [/status of 401/]);
    await signIn(page, secret);
    await page.locator('button:enabled', { hasText: 'Approve' }).waitFor();
    // Not before the button is pressed: the page looks by itself whether its key still works.
    await page.route(
      '**/policies/evaluate',
      async (route) => {
        await send(program, 'POST', `/api/v1/api-keys/${id}/revoke`, { key: program.key, body: {} });
        await route.continue();
      },
      { times: 1 },
    );
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText(/The service no longer accepts your key/).waitFor();
    const { body } = await send(program, 'GET', `/api/v1/decisions/${decisionId}`, { key: program.key });
    expect(body.reviews).toEqual([]);
  });

  it('says that the service is not reachable to those who may not read, too', async () => {
    const { program, bot } = stage.company;
    const { secret } = await issueKey(program, { name: 'proposer', scopes: ['propose'], agentId: bot.id });
    const page = await open('', [/ERR_FAILED/]);
    await signIn(page, secret);
    await page.getByText('Updates every 10 s').waitFor();
    await page.route('**/me', (route) => route.abort());
    await page.getByText('Service not reachable').waitFor();
    await page.unroute('**/me');
    await page.getByText('Updates every 10 s').waitFor();
  });

  it('is no longer called live once its stream falls silent, and misses nothing', async () => {
    const page = await open('/activity', [/ERR_FAILED/]);
    await page.clock.install();
    await page.reload();
    await signIn(page, stage.company.sara.key);
    await page.getByText('Live', { exact: true }).waitFor();
    const requests = page.getByRole('main').getByRole('listitem').filter({ hasText: 'sent for approval' });
    await requests.first().waitFor();
    const before = await requests.count();
    await page.route('**/api/v1/events*', (route) => route.abort());
    await page.clock.fastForward('00:30');
    await page.getByText('Reconnecting …').waitFor();
    await askToPay(stage.company, { invoice: 'while the stream was silent' });
    await page.unroute('**/api/v1/events*');
    await page.getByText('Live', { exact: true }).waitFor();
    await requests.nth(before).waitFor();
  });

  it('is no longer called live once the service is gone', async () => {
    const other = await startProgram(join(ROOT, 'dist', 'main.js'));
    const page = await stage.browser.open(`${other.url}/console`, { expected: [/net::ERR_/] });
    await signIn(page, other.key);
    await page.getByText('Live', { exact: true }).waitFor();
    await other.stop('SIGKILL');
    await page.getByText('Reconnecting …').waitFor();
  });
});
