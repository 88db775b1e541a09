import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, signIn } from '../browser';
import { companyStage } from '../company';

/** Holds back what waits for `released`, until `release` is called. */
function latch(): { readonly released: Promise<void>; readonly release: () => void } {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  return { released, release: () => release() };
}

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
        /^require approval\s+pay-invoice\s+anything\s+Other requests, or later ones, .* because of large-payments.$/,
      ),
      expect.stringMatching(/^allow\s+read-invoice\s+invoice paid\/\*$/),
      expect.stringMatching(/^allow\s+read-invoice\s+receipt paid\/\*$/),
      expect.stringMatching(/^deny\s+read-invoice\s+anything else/),
    ]);
    // What a limit, or on whose behalf it is done, decides is not said of requests without both.
    const limits = [{ max: 5, of: '/pages', per: 'day', by: 'agent' }];
    await createPolicy(program, { name: 'few', actions: ['read-invoice'], resources: ['few/*'], limits });
    await createPolicy(program, {
      name: 'vip',
      actions: ['read-invoice'],
      resources: ['vip/*'],
      onBehalfOf: ['user:*'],
    });
    await rights.filter({ hasText: /few\/\*.* because of few\.$/s }).waitFor();
    await rights.filter({ hasText: /vip\/\*.* because of vip\.$/s }).waitFor();
    await createPolicy(program, { name: 'no-payments', effect: 'deny', actions: ['pay-invoice'], priority: 9 });
    await rights.filter({ hasText: /^deny\s+pay-invoice/ }).waitFor();
  });

  it('have keys that say on whose behalf they act', async () => {
    const { program, bot } = stage.company;
    await issueKey(program, {
      name: 'front',
      scopes: ['execute'],
      agentId: bot.id,
      principals: ['user:*', 'role:vip'],
    });
    const page = await stage.browser.open(`${program.url}/console/agents`);
    await signIn(page, program.key);
    await page.getByText('acts as payment-bot, on behalf of user:* or role:vip · execute').waitFor();
  });

  it('are registered, changed, suspended and resumed', async () => {
    const { program, sara } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/agents`);
    await signIn(page, program.key);
    await page.getByRole('button', { name: 'Register an agent' }).click();
    const form = page.getByRole('form', { name: 'Register an agent' });
    await form.getByLabel('Name').fill('clerk-bot');
    await form.getByLabel('Roles').fill('office\n\n night shift ');
    await form.getByLabel('Capabilities').fill('read_*');
    await form.getByRole('button', { name: 'Register it' }).click();
    await page.getByRole('link', { name: /clerk-bot/ }).click();
    const find = async (): Promise<unknown> => (await send(program, 'GET', '/api/v1/agents/clerk-bot')).body;
    const registered = { kind: 'machine', roles: ['office', 'night shift'], capabilities: ['read_*'] };
    expect(await find()).toMatchObject({ ...registered, status: 'active' });
    await page.getByRole('button', { name: 'Change it' }).click();
    await page.getByLabel('Roles').fill('office');
    await page.getByLabel('Description').fill('Files things.');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Files things.', { exact: true }).first().waitFor();
    const focused = (): Promise<string> => page.evaluate('document.activeElement.id');
    expect(await focused()).toBe('main');
    expect(await find()).toMatchObject({ ...registered, roles: ['office'], description: 'Files things.' });
    await page.getByRole('button', { name: 'Suspend' }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await page.evaluate('document.activeElement.innerText')).toBe('Suspend');
    await page.keyboard.press('Enter');
    await page.getByLabel('Reason').fill('It loops.');
    await page.getByRole('button', { name: 'Suspend it now' }).click();
    await page.getByText('suspended', { exact: true }).waitFor();
    expect(await focused()).toBe('main');
    expect(await find()).toMatchObject({ status: 'suspended' });
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Resume it now' }).click();
    await page.getByText('active', { exact: true }).waitFor();
    expect(await find()).toMatchObject({ status: 'active' });
    const reader = await stage.browser.open(`${program.url}/console/agents/${sara.id}`);
    await signIn(reader, sara.key);
    await reader.getByText('Your key acts as it, so somebody else changes it.').waitFor();
    expect(await reader.getByRole('button', { name: 'Suspend' }).count()).toBe(0);
    const { id } = await createAgent(program, { name: 'only reviews', kind: 'human' });
    await reader.goto(`${program.url}/console/agents/${id}`);
    await signIn(reader, sara.key);
    await reader.getByText('so it may carry out nothing. Reviewing needs none.').waitFor();
  });

  it('are issued keys whose secrets are not lost with the screen, nor with the page unless somebody says so', async () => {
    const { program } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/agents`);
    await signIn(page, program.key);
    const { released, release } = latch();
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
    const dialogEvent = page.waitForEvent('dialog');
    await page.close({ runBeforeUnload: true });
    const dialog = await dialogEvent;
    expect(dialog.type()).toBe('beforeunload');
    await dialog.dismiss();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('alert').filter({ hasText: 'not saved yet' }).waitFor();
    expect(await secrets.count()).toBe(2);
    for (let saved = 0; saved < 2; saved += 1)
      await page.getByRole('button', { name: 'I have saved it' }).first().click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Your key').waitFor();
  });

  it.each([
    ['after the key is shown', false],
    ['while its secret is on the way', true],
  ])('are issued keys that stay until somebody has saved them when the session ends %s', async (_, isOnItsWay) => {
    const { program } = stage.company;
    const own = await issueKey(program, { name: `ends soon ${String(isOnItsWay)}`, scopes: ['admin'] });
    const page = await stage.browser.open(`${program.url}/console/agents`, { expected: [/status of 401/] });
    await signIn(page, own.secret);
    const { released, release } = latch();
    const { released: isIssued, release: onIssue } = latch();
    await page.route('**/api-keys', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      const response = await route.fetch();
      onIssue();
      await released;
      await route.fulfill({ response });
    });
    const notice = page.getByRole('status').filter({ hasText: 'The key of a guest is issued.' });
    await page.getByRole('button', { name: 'Issue a key' }).click();
    await page.getByLabel('Name').fill('of a guest');
    await page.getByRole('button', { name: 'Issue the key' }).click();
    await isIssued;
    if (!isOnItsWay) {
      release();
      await notice.waitFor();
    }
    await send(program, 'POST', `/api/v1/api-keys/${own.id}/revoke`, { key: program.key, body: {} });
    await page.getByText('The service no longer accepts your key').waitFor();
    await page.getByLabel('Your key').pressSequentially('agk_');
    release();
    const secret = await notice.getByText(/^agk_/).innerText();
    // Whoever signs in here again finds it, too.
    await page.getByLabel('Your key').pressSequentially(program.key);
    expect(await page.getByLabel('Your key').inputValue()).toBe(`agk_${program.key}`);
    await signIn(page, program.key);
    expect(await notice.getByText(/^agk_/).innerText()).toBe(secret);
    await notice.getByRole('button', { name: 'I have saved it' }).click();
    expect(await page.content()).not.toContain(secret);
  });

  it('are issued one key, however fast its button is pressed again', async () => {
    const { program } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/agents`, { expected: [/status of 400/] });
    await signIn(page, program.key);
    let answers = 0;
    const { released, release } = latch();
    await page.route('**/api-keys', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      answers += 1;
      if (answers === 1) return route.fulfill({ status: 400, json: { error: { code: 'X', message: 'Not yet.' } } });
      await released;
      return route.continue();
    });
    await page.getByRole('button', { name: 'Issue a key' }).click();
    await page.getByLabel('Name').fill('only once');
    const submit = page.getByRole('button', { name: 'Issue the key' });
    await submit.click();
    await page.getByRole('alert').filter({ hasText: 'Not yet.' }).waitFor();
    // Before the page can render again.
    await page.evaluate(`const button = document.querySelector('form [type=submit]'); button.click(); button.click();`);
    await page.locator('button:disabled', { hasText: 'Issu' }).waitFor();
    release();
    await page.getByRole('status').filter({ hasText: 'The key only once is issued.' }).waitFor();
    await page.getByRole('listitem').filter({ hasText: 'only once' }).first().waitFor();
    const { body } = await send(program, 'GET', '/api/v1/api-keys', { key: program.key });
    expect(body.data.filter(({ name }: { name: string }) => name === 'only once')).toHaveLength(1);
  });

  it('are issued keys that do not appear once their issuer has signed out', async () => {
    const { program } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/agents`);
    await signIn(page, program.key);
    const { released, release } = latch();
    await page.route('**/api-keys', async (route) => {
      if (route.request().method() === 'POST') await released;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Issue a key' }).click();
    await page.getByLabel('Name').fill('to nobody');
    const isSent = page.waitForRequest((request) => request.method() === 'POST');
    await page.getByRole('button', { name: 'Issue the key' }).click();
    await isSent;
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('alert').filter({ hasText: 'not saved yet' }).waitFor();
    await page.getByRole('button', { name: 'Sign out and lose it' }).click();
    await page.getByLabel('Your key').waitFor();
    const isAnswered = page.waitForResponse((response) => response.request().method() === 'POST');
    release();
    await (await isAnswered).finished();
    await signIn(page, program.key);
    await page.getByRole('listitem').filter({ hasText: 'to nobody' }).waitFor();
    expect(await page.getByRole('status').getByText(/^agk_/).count()).toBe(0);
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
    const { released, release } = latch();
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
    await page.getByRole('combobox', { name: 'Acts as' }).fill('worker 0');
    await page.getByRole('button', { name: 'Issue the key' }).click();
    await page.getByRole('status').getByText(/^agk_/).waitFor();
    await page
      .getByRole('listitem')
      .filter({ hasText: 'for the first worker' })
      .getByText('acts as worker 0')
      .waitFor();
  });

  it('have links and buttons that a finger tells apart', async () => {
    const { program, sara } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/agents/${sara.id}`, { width: 390 });
    await signIn(page, program.key);
    const about = page.getByRole('region', { name: 'About' });
    const names = ['Passkeys', 'Delegations', 'Change it', 'Suspend'];
    const places = names.map((name) => about.getByRole(name.endsWith('s') ? 'link' : 'button', { name, exact: true }));
    await about.getByRole('button', { name: 'Suspend' }).waitFor();
    const boxes = await Promise.all(places.map((place) => place.boundingBox()));
    for (const box of boxes) expect(box?.height).toBeGreaterThanOrEqual(40);
    for (const [left, right] of [boxes.slice(0, 2), boxes.slice(2)]) {
      expect(right?.y).toBe(left?.y);
      expect((right?.x ?? 0) - (left?.x ?? 0) - (left?.width ?? 0)).toBeGreaterThanOrEqual(12);
    }
  });
});
