import type { Route } from '../../../console/node_modules/playwright-core';
import { addClaim, createAgent, createEntity, createPolicy } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { readDocument, section, tableRows } from '../../support/documents/markdown';
import { describeInBrowser, type Page, signIn } from '../browser';
import { askToPay, companyStage } from '../company';
import { violations, withAxe } from '../look';

describeInBrowser("The console's activity", () => {
  const stage = companyStage();

  async function open(): Promise<Page> {
    const page = await stage.browser.open(`${stage.company.program.url}/console/activity`);
    await signIn(page, stage.company.sara.key);
    await page.getByText('Live', { exact: true }).waitFor();
    return page;
  }

  function entries(page: Page, text: string | RegExp): ReturnType<Page['locator']> {
    return page.getByRole('main').getByRole('listitem').filter({ hasText: text });
  }

  it('shows what happened while the page was hidden', async () => {
    const page = await open();
    const show = (hidden: boolean): Promise<unknown> =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} });
        document.dispatchEvent(new Event('visibilitychange'));`);
    await entries(page, 'Claim added').first().waitFor();
    const before = await entries(page, 'sent for approval').count();
    await show(true);
    await page.getByText('Paused').waitFor();
    await askToPay(stage.company);
    await show(false);
    await entries(page, 'sent for approval').nth(before).waitFor();
  });

  it('is of a period that ends now, or of its own, with its filters on one line', async () => {
    const page = await open();
    const form = page.getByRole('form', { name: 'Filters' });
    const period = form.getByLabel('Period');
    const queryAfter = async (act: () => Promise<unknown>): Promise<URLSearchParams> => {
      const request = page.waitForRequest('**/audit?*');
      await act();
      return new URL((await request).url()).searchParams;
    };
    const day = await queryAfter(() => period.selectOption('Last 24 hours'));
    const month = await queryAfter(() => period.selectOption('Last 30 days'));
    const [ofDay, ofMonth] = [day, month].map((query) => Date.parse(query.get('from') ?? ''));
    expect(Math.round(((ofDay ?? 0) - (ofMonth ?? 0)) / 86_400_000)).toBe(29);
    expect([day.has('to'), month.has('to')]).toEqual([false, false]);
    await period.selectOption('Own');
    const own = await queryAfter(() => form.getByLabel('To', { exact: true }).fill('2099-02-28T12:00'));
    expect(own.get('to')).toBe('2099-02-28T11:00:00.000Z');
    const ends = await form
      .locator('label')
      .evaluateAll((labels: { getBoundingClientRect(): { bottom: number } }[]) =>
        labels.map((label) => label.getBoundingClientRect().bottom),
      );
    expect(ends).toHaveLength(6);
    expect(Math.max(...ends) - Math.min(...ends)).toBeLessThan(5);
    const any = await queryAfter(() => period.selectOption('Any time'));
    expect([any.has('from'), any.has('to')]).toEqual([false, false]);
  });

  it('filters by every action that the service records', async () => {
    const rows = tableRows(section(readDocument('docs/api-decisions.md'), '## Audit'));
    const recorded = rows.flatMap(([first = '']) => (first.includes('.') ? first.replaceAll('`', '') : []));
    const page = await open();
    const options = page.getByLabel('What').locator('option');
    const offered = await options.evaluateAll((all: { value: string }[]) => all.map(({ value }) => value));
    expect(offered.sort()).toEqual(['', ...recorded].sort());
    await page.getByLabel('What').selectOption('Claim added');
    await entries(page, 'Claim added').first().waitFor();
    expect(await entries(page, 'Entity created').count()).toBe(0);
  });

  it('says what is wrong with a period that a link names', async () => {
    const { program, sara } = stage.company;
    const expected = [/status of 400/];
    const page = await stage.browser.open(`${program.url}/console/activity?from=yesterday`, { expected });
    await signIn(page, sara.key);
    await page.getByRole('alert').filter({ hasText: 'from' }).waitFor();
    expect(await page.getByLabel('From', { exact: true }).inputValue()).toBe('');
  });

  it('filters by the name of any agent, and follows that one alone', async () => {
    const { program, supplier } = stage.company;
    await createAgent(program, { name: 'a late one' });
    const page = await open();
    const field = page.getByRole('combobox', { name: 'Agent' });
    await field.fill('a late one');
    await field.press('Enter');
    await entries(page, 'Agent created').waitFor();
    await askToPay(stage.company);
    await addClaim(program, supplier.id, { predicate: 'seen', value: 'by another' });
    await send(program, 'POST', '/api/v1/agents/a%20late%20one/suspend', { key: program.key, body: {} });
    await entries(page, 'Agent suspended').waitFor();
    expect(await page.getByRole('main').getByRole('listitem').count()).toBe(2);
    await field.fill('nobody at all');
    await field.press('Enter');
    await page.getByText('Nothing matches.').waitFor();
    await page.getByText('An agent is found by its exact name.').waitFor();
    const policy = { name: 'of no agent', actions: ['nothing'] };
    await Promise.all([page.waitForResponse('**/audit?*'), createPolicy(program, policy)]);
    expect(await entries(page, 'Policy').count()).toBe(0);
    await createAgent(program, { name: 'nobody at all' });
    await entries(page, 'Agent created').waitFor();
  });

  it('does not mix the answer to an earlier filter into the list of another', async () => {
    const { program, supplier } = stage.company;
    for (let claim = 0; claim < 60; claim += 1) await addClaim(program, supplier.id, { predicate: 'n', value: claim });
    const page = await open();
    const held = new Promise<Route>((resolve) => void page.route(/audit\?.*cursor/, resolve, { times: 1 }));
    await page.getByRole('button', { name: 'Show older' }).click();
    const late = await held;
    await page.getByLabel('What').selectOption('execution.approval_requested');
    await entries(page, 'sent for approval').first().waitFor();
    await Promise.all([page.waitForResponse(/audit\?.*cursor/), late.continue()]);
    await page.getByLabel('Outcome').focus();
    expect(await entries(page, 'Claim added').count()).toBe(0);
  });

  it('is not read again and again while much happens that the filter leaves out', async () => {
    const { program, supplier } = stage.company;
    const { id } = await createAgent(program, { name: 'a quiet one' });
    const page = await open();
    const field = page.getByRole('combobox', { name: 'Agent' });
    await field.fill('a quiet one');
    await field.press('Enter');
    await entries(page, 'Agent created').waitFor();
    let reads = 0;
    page.on('request', (request) => (reads += request.url().includes('/audit?') ? 1 : 0));
    for (let first = 0; first < 600; first += 100) {
      const claims = Array.from({ length: 100 }, (_, index) =>
        addClaim(program, supplier.id, { predicate: 'tick', value: first + index }),
      );
      await Promise.all(claims);
    }
    await send(program, 'POST', `/api/v1/agents/${id}/suspend`, { key: program.key, body: {} });
    await entries(page, 'Agent suspended').waitFor();
    expect(reads).toBe(0);
  });

  it('names who stopped, and who answered in Slack, beside names of any length', async () => {
    const { program, sara } = stage.company;
    await createAgent(program, { name: 'n'.repeat(200) });
    const { decisionId } = await askToPay(stage.company, { invoice: 'slack' });
    await send(program, 'POST', `/api/v1/decisions/${decisionId}/reject`, { key: sara.key, body: {} });
    const stop = { role: 'nobody', reason: 'A test.' };
    const { body } = await send(program, 'POST', '/api/v1/stops', { key: sara.key, body: stop });
    await send(program, 'POST', `/api/v1/stops/${body.id}/lift`, { key: sara.key, body: { reason: 'Over.' } });
    const page = await stage.browser.open(`${program.url}/console/activity`);
    await page.route('**/audit?*', async (route) => {
      const response = await route.fetch();
      const page = await response.json();
      const data = page.data.map((entry: { readonly subjectType: string }) =>
        entry.subjectType === 'decision' ? { ...entry, actor: { type: 'slack', id: 'T01/U02' } } : entry,
      );
      await route.fulfill({ response, json: { ...page, data } });
    });
    await signIn(page, sara.key);
    await entries(page, /Stopped\s+by sara \(key/).waitFor();
    await entries(page, /Stop lifted\s+by sara \(key/).waitFor();
    await entries(page, /Rejected\s+by sara \(Slack\)/)
      .first()
      .waitFor();
    const row = entries(page, 'n'.repeat(200));
    const what = await row.getByText('Agent created').boundingBox();
    expect(what?.height).toBeLessThan(40);
  });

  it('says of an execution for whom it is, in which run, and whether a policy allows it', async () => {
    const { program, sara } = stage.company;
    const { id, name } = await createAgent(program, { name: 'new-bot', capabilities: ['look-up'] });
    const observeUntil = new Date(Date.now() + 3_600_000).toISOString();
    await send(program, 'PATCH', `/api/v1/agents/${id}`, { body: { observeUntil } });
    const { body } = await send(program, 'POST', `/api/v1/agents/${name}/execute`, {
      body: {
        ...{ action: 'look-up', resourceType: 'customer', resourceId: '7', run: 'talk-1' },
        onBehalfOf: { subject: 'user:eva', roles: ['vip'] },
      },
    });
    const page = await stage.browser.open(`${program.url}/console/executions/${body.id}`);
    await signIn(page, sara.key);
    await page.getByText('observed: no policy allowed it').waitFor();
    const request = page.getByRole('region', { name: 'The request' });
    await request.getByText('user:eva, with the role vip').waitFor();
    await request.getByText('talk-1').waitFor();
    await withAxe(page);
    expect(await violations(page)).toEqual([]);
  });

  it('says of an execution which policies decided it', async () => {
    const { program, sara } = stage.company;
    const { id } = await askToPay(stage.company, { invoice: 'by which' });
    const page = await stage.browser.open(`${program.url}/console/executions/${id}`);
    await signIn(page, sara.key);
    const policies = page.getByRole('region', { name: 'Policies that decided' });
    await policies.getByRole('link', { name: /^large-payments / }).click();
    await page.getByText('Payments of 10,000 or more need finance and security.').first().waitFor();
  });

  it('shows the reasons that people gave as they are, whatever they contain', async () => {
    const { program } = stage.company;
    const { id } = await createAgent(program, { name: 'reasoned' });
    const body = { reason: 'It paid \u202e001 to acme_corp.' };
    await send(program, 'POST', `/api/v1/agents/${id}/suspend`, { key: program.key, body });
    const page = await open();
    await entries(page, 'It paid \\u202e001 to acme_corp.').waitFor();
  });

  it('shows the name that an entity has now', async () => {
    const { program } = stage.company;
    const { id } = await createEntity(program, { name: 'Before GmbH' });
    const page = await open();
    await entries(page, 'Before GmbH').waitFor();
    await send(program, 'PUT', `/api/v1/entities/${id}`, { key: program.key, body: { name: 'After GmbH' } });
    await entries(page, 'After GmbH').nth(1).waitFor();
    expect(await entries(page, 'Before GmbH').count()).toBe(0);
  });

  it('shows the names of all agents, however many are new', async () => {
    const { program } = stage.company;
    const page = await open();
    await page.clock.install();
    await page.reload();
    await signIn(page, stage.company.sara.key);
    await page.getByText('Live', { exact: true }).waitFor();
    for (let guest = 0; guest < 25; guest += 1) await createAgent(program, { name: `guest ${guest}` });
    await entries(page, 'Agent created').nth(24).waitFor();
    await page.clock.fastForward('02:00');
    await createAgent(program, { name: 'guest 25' });
    for (let guest = 0; guest <= 25; guest += 1)
      await page.getByRole('link', { name: `guest ${guest}`, exact: true }).waitFor();
  });
});
